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
    uint32_t stride = team->threads * GF_ITEM_BYTES, mine = team->thread * GF_ITEM_BYTES;
    const char *from = part->from + part->first + mine;
    char *to = part->to + part->first + mine;
    int64_t left = (int64_t)(part->end - part->first);
    uint8_t edge = 0;
    if (team->thread < part->edges)
        edge = gf_load_payload8(part->from + gf_pull_edge(part, team->thread));
    do {
        union gf_item items[GF_COPY_IN_FLIGHT];
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if ((int64_t)mine + u * stride < left)
                items[u] = gf_pull_load(from + u * stride, part->shift, shifted);
        if (gate && gf_team_any(team, team->thread == 0 && !gf_enter_gate(team, gate, ticket)))
            return false;
        gate = NULL;
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if ((int64_t)mine + u * stride < left)
                gf_store_item(team, to + u * stride, items[u]);
        from += n * stride;
        to += n * stride;
        left -= n * stride;
    } while (left > 0);
    if (team->thread < part->edges)
        gf_store_payload8(team, part->to + gf_pull_edge(part, team->thread), edge);
    for (uint32_t e = team->thread + team->threads; e < part->edges; e += team->threads) {
        uint64_t at = gf_pull_edge(part, e);
        gf_store_payload8(team, part->to + at, gf_load_payload8(part->from + at));
    }
    return true;
}

GF_INLINE bool gf_pull_move(const struct gf_team *team, struct gf_pull_gate *gate, uint64_t ticket,
                            const struct gf_pull_item *item, uint64_t begin, uint64_t end)
{
    struct gf_pull_part part = {(char *)item->to + begin, (const char *)item->from + begin, end - begin, 0, 0, 0, 0};
    gf_pull_part_lay_out(&part);
    return part.shift ? gf_pull_rounds(team, gate, ticket, &part, true) : gf_pull_rounds(team, gate, ticket, &part, false);
}

/* The block is done with all that it has of the item; the whole team. */
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

/* One item: all blocks go through it side by side, a share each at a time. Every block has a share. */
GF_INLINE void gf_pull_one(const struct gf_team *team, const struct gf_pull_work *work)
{
    const struct gf_pull_launch *launch = &work->launch;
    struct gf_pull_item item = work->item;
    struct gf_pull_gate *gate = launch->gate;
    bool open = true;
    for (uint64_t begin = team->block * launch->share; begin < item.bytes && open; begin += team->blocks * launch->share) {
        uint64_t end = item.bytes - begin < launch->share ? item.bytes : begin + launch->share;
        open = gf_pull_move(team, gate, launch->ticket, &item, begin, end);
        gate = NULL;
    }
    if (open)
        gf_pull_finish(team, launch, &item, 0);
    if (team->thread == 0)
        gf_leave_gate(team, launch->gate);
}

/* Several items: each block has one share of their concatenation. */
GF_INLINE void gf_pull_list(const struct gf_team *team, const struct gf_pull_list_work *work)
{
    const struct gf_pull_launch *launch = &work->launch;
    uint64_t begin = team->block * launch->share, end = begin + launch->share;
    struct gf_pull_gate *gate = launch->gate;
    for (uint32_t index = work->first[team->block]; index < launch->count && work->items[index].start < end; index++) {
        struct gf_pull_item item = work->items[index];
        uint64_t low = begin > item.start ? begin - item.start : 0;
        uint64_t high = end - item.start < item.bytes ? end - item.start : item.bytes;
        if (!gf_pull_move(team, gate, launch->ticket, &item, low, high))
            break;
        gate = NULL;
        gf_pull_finish(team, launch, &item, index);
    }
    if (team->thread == 0)
        gf_leave_gate(team, launch->gate);
}

#endif
