/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fetching messages from the memory of peers: a list of copies in one launch, each of which says its own end to its peer. Waits
 * for nobody.
 *
 * The program's own kernels may fill the GPU, so that a launch does not start, and may wait for this very message. So its host
 * can close the launch: blocks enter it through a gate (gf_enter_gate) and leave it again, and one that finds it closed
 * touches nothing. The host then does the work by copy engine, once those inside have left. tests/model/pull_gate.pml shows
 * why that is safe. To hide the time that entering takes, a block loads its first data before it looks whether it may.
 */
#ifndef GF_KERNELS_PULL_H
#define GF_KERNELS_PULL_H

#include "kernels/simple.h"

/* What one block moves of one item. Whole items (in the sense of item.h) are [first, end) of it, at addresses where `to` is
 * aligned; what lies before and behind, less than four items, goes by bytes. */
struct gf_pull_part {
    char *to;
    const char *from;
    uint64_t bytes;
    uint64_t first, end;
    uint32_t shift;              /* how far `from` is behind an aligned address where `to` is aligned */
    uint32_t edges;              /* bytes outside of [first, end) */
};

/* Where `from` is not aligned, an item is joined from two aligned ones, both of which must lie within the part. */
GF_INLINE void gf_pull_part_lay_out(struct gf_pull_part *part)
{
    uint64_t first = (0 - (uintptr_t)part->to) % GF_VECTOR;
    uint32_t shift = (uint32_t)(((uintptr_t)part->from + first) % GF_VECTOR);
    if (first < shift)
        first += GF_VECTOR;
    uint64_t window = first - shift + (shift ? GF_ITEM_BYTES : 0);
    uint64_t items = part->bytes > window ? (part->bytes - window) / GF_ITEM_BYTES : 0;
    part->first = items ? first : 0;
    part->end = part->first + items * GF_ITEM_BYTES;
    part->shift = shift;
    part->edges = (uint32_t)(part->bytes - (part->end - part->first));
}

/* The number-th byte of those outside of the whole items. */
GF_INLINE uint64_t gf_pull_edge(const struct gf_pull_part *part, uint32_t number)
{
    return number < part->first ? number : part->end + (number - part->first);
}

/* The item that begins `shift` bytes behind low, of which high is the continuation. Without indices that only the run knows, so
 * that all stays in registers. */
GF_INLINE union gf_item gf_join_items(union gf_item low, union gf_item high, uint32_t shift)
{
    enum { LANES = GF_LANES_OF(uint32_t), MORE = GF_VECTOR / sizeof(uint32_t) };
    union gf_item result;
    uint32_t lane[LANES + MORE];
    GF_UNROLL
    for (uint32_t i = 0; i < LANES + MORE; i++)
        lane[i] = i < LANES ? low.u32[i] : high.u32[i - LANES];
    GF_UNROLL
    for (uint32_t step = 2; step > 0; step /= 2) {
        GF_UNROLL
        for (uint32_t i = 0; i + step < LANES + MORE; i++)
            lane[i] = shift / sizeof(uint32_t) & step ? lane[i + step] : lane[i];
    }
    GF_UNROLL
    for (uint32_t i = 0; i < LANES; i++)
        result.u32[i] = (uint32_t)(((uint64_t)lane[i + 1] << 32 | lane[i]) >> shift % sizeof(uint32_t) * 8);
    return result;
}

GF_INLINE union gf_item gf_pull_load(const char *from, uint32_t shift, bool shifted)
{
    if (!shifted)
        return gf_load_item(from);
    return gf_join_items(gf_load_item(from - shift), gf_load_item(from - shift + GF_ITEM_BYTES), shift);
}

/* Moves the part; the whole team. With a gate: enters it behind the first loads and returns false, with nothing stored, if it
 * is closed. shifted is a constant after inlining. */
GF_INLINE bool gf_pull_rounds(const struct gf_team *team, struct gf_pull_gate *gate, uint64_t ticket,
                              const struct gf_pull_part *part, bool shifted)
{
    const uint32_t n = shifted ? GF_COPY_IN_FLIGHT / 2 : GF_COPY_IN_FLIGHT;
    uint64_t stride = (uint64_t)team->threads * GF_ITEM_BYTES, mine = (uint64_t)team->thread * GF_ITEM_BYTES;
    uint64_t round = part->first;
    uint8_t edge = 0;
    if (team->thread < part->edges)
        edge = gf_load_payload8(part->from + gf_pull_edge(part, team->thread));
    do {
        union gf_item items[GF_COPY_IN_FLIGHT];
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if (round + mine + u * stride < part->end)
                items[u] = gf_pull_load(part->from + round + mine + u * stride, part->shift, shifted);
        if (gate && gf_team_any(team, team->thread == 0 && !gf_enter_gate(team, gate, ticket)))
            return false;
        gate = NULL;
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if (round + mine + u * stride < part->end)
                gf_store_item(team, part->to + round + mine + u * stride, items[u]);
        round += n * stride;
    } while (round < part->end);
    if (team->thread < part->edges)
        gf_store_payload8(team, part->to + gf_pull_edge(part, team->thread), edge);
    for (uint32_t e = team->thread + team->threads; e < part->edges; e += team->threads) {
        uint64_t at = gf_pull_edge(part, e);
        gf_store_payload8(team, part->to + at, gf_load_payload8(part->from + at));
    }
    return true;
}

/* The block is done with its part of the item; the whole team. */
GF_INLINE void gf_pull_finish(const struct gf_team *team, const struct gf_pull_launch *launch, const struct gf_pull_item *item,
                              uint32_t index)
{
    if (GF_MUTANT != GF_MUTANT_EARLY_END)
        gf_team_barrier(team);
    if (team->thread != 0)
        return;
    if (item->to_host)
        gf_flush_host_writes(team);
    if (item->blocks > 1 && !gf_count_part_done(team, launch->gate, index, GF_MUTANT == GF_MUTANT_UNCOUNTED ? 1 : item->blocks))
        return;
    gf_publish_pulled(team, item->end, item->to_host);
    gf_note_finished(team, launch->gate, index, launch->ticket);
}

/* A launch: every block has a part of at least one item, the first one of item `index`. */
GF_INLINE void gf_pull(const struct gf_team *team, const struct gf_pull_launch *launch, const struct gf_pull_item *items,
                       uint32_t index)
{
    uint64_t begin = team->block * launch->share, end = begin + launch->share;
    struct gf_pull_gate *gate = launch->gate;
    for (; index < launch->count && items[index].start < end; index++) {
        struct gf_pull_item item = items[index];
        uint64_t low = begin > item.start ? begin - item.start : 0;
        uint64_t high = end - item.start < item.bytes ? end - item.start : item.bytes;
        struct gf_pull_part part = {(char *)item.to + low, (const char *)item.from + low, high - low, 0, 0, 0, 0};
        gf_pull_part_lay_out(&part);
        bool open = part.shift ? gf_pull_rounds(team, gate, launch->ticket, &part, true)
                               : gf_pull_rounds(team, gate, launch->ticket, &part, false);
        if (!open)
            break;
        gate = NULL;
        gf_pull_finish(team, launch, &item, index);
    }
    if (team->thread == 0)
        gf_leave_gate(team, launch->gate);
}

#endif
