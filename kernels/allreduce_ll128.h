/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one-shot allreduce over LL128 lines. Slots, epochs, regions and the order of the ranks are those of allreduce.h, and so is
 * the argument why two slots suffice: each block sends at least one unit an epoch. Here the lanes of a line work together on a
 * unit, and a team is threads / GF_LINE_LANES such groups.
 */
#ifndef GF_KERNELS_ALLREDUCE_LL128_H
#define GF_KERNELS_ALLREDUCE_LL128_H

#include "kernels/allreduce.h"
#include "kernels/ll128.h"

/* Peers whose units one lane polls together: each takes GF_LANE_WORDS items of registers. */
enum { GF_UNITS_AT_ONCE = 4 };

GF_INLINE struct gf_one_shot_unit gf_ll128_unit(void)
{
    struct gf_one_shot_unit unit = {GF_UNIT_DATA, GF_UNIT_BYTES};
    return unit;
}

/* Where a lane's item j of unit u is in the part, and how many of its bytes are valid. */
struct gf_unit_place {
    uint64_t at;
    uint32_t bytes;
};

GF_INLINE struct gf_unit_place gf_unit_place(const struct gf_one_shot_part *part, uint64_t u, uint32_t lane, uint32_t j)
{
    struct gf_unit_place place = {(u * GF_UNIT_ITEMS + gf_unit_item(lane, j)) * GF_ITEM_BYTES, 0};
    if (gf_unit_item(lane, j) < GF_UNIT_ITEMS && place.at < part->bytes)
        place.bytes = part->bytes - place.at < GF_ITEM_BYTES ? (uint32_t)(part->bytes - place.at) : GF_ITEM_BYTES;
    return place;
}

GF_INLINE struct gf_unit_part gf_load_own_unit(const struct gf_one_shot_part *part, uint64_t u, uint32_t lane)
{
    struct gf_unit_part own;
    GF_UNROLL
    for (uint32_t j = 0; j < GF_LANE_WORDS; j++) {
        struct gf_unit_place place = gf_unit_place(part, u, lane, j);
        own.items[j] = gf_load_ragged(part->own + place.at, place.bytes);
    }
    return own;
}

/* The result is this lane's share of its first unit, which it needs again soon. */
GF_INLINE struct gf_unit_part gf_ll128_send(const struct gf_team *team, const struct gf_one_shot_work *work,
                                            const struct gf_one_shot_part *part)
{
    uint32_t rank = work->task.rank, ranks = work->task.ranks, lane = team->thread % GF_LINE_LANES;
    uint64_t group = team->thread / GF_LINE_LANES, groups = team->threads / GF_LINE_LANES;
    uint64_t units = gf_part_units(part, gf_ll128_unit());
    struct gf_unit_part first = {{{{0}}}};
    GF_ROLL
    for (uint64_t u = group; u < units; u += groups) {
        struct gf_unit_part own = gf_load_own_unit(part, u, lane);
        GF_ROLL
        for (uint32_t q = 1; q < ranks; q++) {
            uint32_t peer = rank + q < ranks ? rank + q : rank + q - ranks;
            gf_store_unit(team, work->peers[peer].to + part->region + u * GF_UNIT_BYTES, lane, &own, part->flag);
        }
        if (u == group)
            first = own;
    }
    return first;
}

/* Unit u of ranks [first, first + GF_UNITS_AT_ONCE), this rank's is `own`. The result is equal in all lanes. */
GF_INLINE enum gf_kernel_error gf_ll128_gather(const struct gf_team *team, const struct gf_one_shot_work *work,
                                               const struct gf_one_shot_part *part, uint64_t u, const struct gf_unit_part *own,
                                               uint32_t first, struct gf_unit_part *units)
{
    uint32_t rank = work->task.rank, ranks = work->task.ranks, lane = team->thread % GF_LINE_LANES;
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    bool arrived = false;
    GF_UNROLL
    for (uint32_t k = 0; k < GF_UNITS_AT_ONCE; k++)
        if (first + k == rank)
            units[k] = *own;
    while (!arrived && error == GF_KERNEL_OK) {
        arrived = true;
        GF_UNROLL
        for (uint32_t k = 0; k < GF_UNITS_AT_ONCE; k++)
            if (first + k < ranks && first + k != rank)
                arrived &= gf_load_unit(team, work->peers[first + k].from + part->region + u * GF_UNIT_BYTES, lane, &units[k],
                                        part->flag);
        if (!arrived)
            error = (enum gf_kernel_error)gf_lanes_first(team, gf_wait_more(team, &work->task, &wait));
    }
    return error;
}

GF_INLINE void gf_reduce_unit(enum gf_type type, enum gf_op op, struct gf_unit_part *result, const struct gf_unit_part *next)
{
    GF_UNROLL
    for (uint32_t j = 0; j < GF_LANE_WORDS; j++)
        result->items[j] = gf_reduce_any(type, op, result->items[j], next->items[j]);
}

GF_INLINE enum gf_kernel_error gf_ll128_reduce(const struct gf_team *team, const struct gf_one_shot_work *work,
                                               const struct gf_one_shot_part *part, struct gf_unit_part own)
{
    enum gf_op op = (enum gf_op)work->data.op;
    enum gf_type type = gf_canonical_type((enum gf_type)work->data.type, op);
    uint32_t ranks = work->task.ranks, lane = team->thread % GF_LINE_LANES;
    uint64_t group = team->thread / GF_LINE_LANES, groups = team->threads / GF_LINE_LANES;
    uint64_t unit_count = gf_part_units(part, gf_ll128_unit());
    GF_ROLL
    for (uint64_t u = group; u < unit_count; u += groups) {
        struct gf_unit_part result = {{{{0}}}};
        if (u != group)
            own = gf_load_own_unit(part, u, lane);
        GF_ROLL
        for (uint32_t first = 0; first < ranks; first += GF_UNITS_AT_ONCE) {
            struct gf_unit_part units[GF_UNITS_AT_ONCE];
            enum gf_kernel_error error = gf_ll128_gather(team, work, part, u, &own, first, units);
            if (error != GF_KERNEL_OK)
                return error;
            GF_UNROLL
            for (uint32_t k = 0; k < GF_UNITS_AT_ONCE; k++)
                if (first + k == 0)
                    result = units[k];
                else if (first + k < ranks)
                    gf_reduce_unit(type, op, &result, &units[k]);
        }
        GF_UNROLL
        for (uint32_t j = 0; j < GF_LANE_WORDS; j++) {
            struct gf_unit_place place = gf_unit_place(part, u, lane, j);
            gf_store_ragged(team, part->out + place.at, result.items[j], place.bytes);
        }
    }
    return GF_KERNEL_OK;
}

GF_INLINE void gf_allreduce_ll128(const struct gf_team *team, const struct gf_one_shot_work *work)
{
    uint32_t blocks = gf_one_shot_blocks(team->blocks, gf_one_shot_slot_units(work, gf_ll128_unit()));
    uint64_t bytes = work->data.count * gf_element_bytes((enum gf_type)work->data.type);
    bool failed = team->block >= blocks;
    for (uint32_t piece = 0; piece < work->pieces && !failed; piece++) {
        struct gf_one_shot_part part = gf_one_shot_cut(team, work, gf_ll128_unit(), piece, blocks, bytes);
        struct gf_unit_part own = gf_ll128_send(team, work, &part);
        enum gf_kernel_error error = gf_ll128_reduce(team, work, &part, own);
        if (error != GF_KERNEL_OK)
            gf_publish_error(team, work->task.error, error);
        failed = error != GF_KERNEL_OK;
        if (GF_MUTANT != GF_MUTANT_NO_BARRIER)
            failed = gf_team_any(team, failed);
    }
    gf_task_finish(team, &work->task);
}

#endif
