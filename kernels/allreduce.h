/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-shot allreduce over LL lines, for small messages. All ranks get the same bits: it reduces in rank order everywhere.
 */
#ifndef GF_KERNELS_ALLREDUCE_H
#define GF_KERNELS_ALLREDUCE_H

#include "kernels/fifo.h"
#include "kernels/ll.h"
#include "kernels/simple.h"
#include "kernels/task.h"

/* Why two slots a peer suffice, with no head. In epoch e + 2 rank r overwrites the lines of epoch e at peer q; by then q
 * must have read them. Let each block of r and q take a fixed region of the slot in a launch. Then:
 *   - block b of r stores epoch e + 2 only after its whole team has read a line of e + 1 from block b of q, since each
 *     block sends at least one line an epoch, also when it has no data, and the team meets at a barrier between two epochs;
 *   - block b of q stores lines of e + 1 only after its whole team has read all its lines of epoch e (the same barrier).
 * Between launches, whose regions may differ: a kernel ends when all its blocks have read their lines of all peers. If r
 * has begun the launch of epoch e + 2, all of r's blocks have read e + 1 from every block of q, so every block of q has
 * read e, if it did so in the launch that sends e + 1; otherwise that launch began when the launch of e was over.
 */

/* One block's part of one epoch. */
struct gf_one_shot_part {
    const char *own;              /* this rank's data; null offset arithmetic apart, not read where bytes is 0 */
    char *out;
    uint64_t bytes;
    uint64_t region;              /* offset in the two slots of any peer */
    uint32_t flag;
};

/* What is never cut: an item of LL lines, a unit of LL128 lines. In bytes; constants after inlining. */
struct gf_one_shot_unit {
    uint32_t data;
    uint32_t lines;               /* that carry it, in a slot */
};

GF_INLINE struct gf_one_shot_unit gf_ll_unit(void)
{
    struct gf_one_shot_unit unit = {GF_ITEM_BYTES, GF_ITEM_LL_BYTES};
    return unit;
}

/* A division takes a GPU as long as half a trip to its memory, and what is short has one block. */
GF_INLINE uint32_t gf_one_shot_share(uint32_t units, uint32_t blocks)
{
    return blocks == 1 ? units : units / blocks;
}

/* How many blocks share a slot: as many as divide it evenly, so that the share of every block fits its region. */
GF_INLINE uint32_t gf_one_shot_blocks(uint32_t blocks, uint32_t slot_units)
{
    while (blocks > 1 && slot_units % blocks != 0)
        blocks--;
    return blocks;
}

/* Fits 32 bits: a slot has less than 4 GiB. Divisions of 64 bits are long on a GPU. */
GF_INLINE uint32_t gf_one_shot_slot_units(const struct gf_one_shot_work *work, struct gf_one_shot_unit unit)
{
    return (uint32_t)(work->slot_bytes / unit.lines);
}

/* Where this epoch's slot of the two begins. */
GF_INLINE uint64_t gf_one_shot_slot(const struct gf_one_shot_work *work, uint32_t epoch)
{
    return GF_MUTANT == GF_MUTANT_ONE_SLOT ? 0 : (epoch & 1) * work->slot_bytes;
}

GF_INLINE struct gf_one_shot_part gf_one_shot_cut(const struct gf_team *team, const struct gf_one_shot_work *work,
                                                  struct gf_one_shot_unit unit, uint32_t piece, uint32_t blocks,
                                                  uint64_t bytes_in_all)
{
    uint32_t slot_units = gf_one_shot_slot_units(work, unit);
    uint64_t begin = (uint64_t)piece * slot_units * unit.data;
    uint64_t end = begin + (uint64_t)slot_units * unit.data;
    end = end < bytes_in_all ? end : bytes_in_all;
    uint32_t units = (uint32_t)((end - begin + unit.data - 1) / unit.data);
    uint32_t share = gf_one_shot_share(units + blocks - 1, blocks) * unit.data;
    uint32_t epoch = work->epoch + piece;

    struct gf_one_shot_part part;
    begin = begin + (uint64_t)team->block * share < end ? begin + (uint64_t)team->block * share : end;
    part.own = (const char *)work->data.send + begin;
    part.out = (char *)work->data.recv + begin;
    part.bytes = end - begin < share ? end - begin : share;
    part.region = gf_one_shot_slot(work, epoch) + (uint64_t)team->block * gf_one_shot_share(slot_units, blocks) * unit.lines;
    part.flag = gf_ll_flag(epoch);
    return part;
}

GF_INLINE uint32_t gf_valid_bytes(const struct gf_one_shot_part *part, uint64_t item)
{
    uint64_t left = part->bytes - item * GF_ITEM_BYTES;
    return left < GF_ITEM_BYTES ? (uint32_t)left : GF_ITEM_BYTES;
}

/* The units of a part; a part without data has one that is empty. */
GF_INLINE uint64_t gf_part_units(const struct gf_one_shot_part *part, struct gf_one_shot_unit unit)
{
    uint64_t units = (part->bytes + unit.data - 1) / unit.data;
    return units == 0 && GF_MUTANT != GF_MUTANT_SILENT_BLOCK ? 1 : units;
}

/* The result is this thread's first item, which it needs again soon. */
GF_INLINE union gf_item gf_one_shot_send(const struct gf_team *team, const struct gf_one_shot_work *work,
                                         const struct gf_one_shot_part *part)
{
    uint32_t rank = work->task.rank, ranks = work->task.ranks;
    uint64_t items = gf_part_units(part, gf_ll_unit());
    union gf_item first = {{0}};
    GF_ROLL
    for (uint64_t i = team->thread; i < items; i += team->threads) {
        uint32_t bytes = gf_valid_bytes(part, i);
        union gf_item own = gf_load_ragged(part->own + i * GF_ITEM_BYTES, bytes);
        GF_ROLL
        for (uint32_t q = 1; q < ranks; q++) {
            uint32_t peer = rank + q < ranks ? rank + q : rank + q - ranks;
            gf_store_ll_item(team, work->peers[peer].to + part->region + i * GF_ITEM_LL_BYTES, own, gf_item_lines(bytes),
                             part->flag);
        }
        if (i == team->thread)
            first = own;
    }
    return first;
}

enum { GF_RANKS_AT_ONCE = 4 };    /* peers whose lines one thread polls together */

/* Item i of ranks [first, first + GF_RANKS_AT_ONCE), this rank's is `own`. */
GF_INLINE enum gf_kernel_error gf_one_shot_gather(const struct gf_team *team, const struct gf_one_shot_work *work,
                                                  const struct gf_one_shot_part *part, uint64_t i, union gf_item own,
                                                  uint32_t bytes, uint32_t first, union gf_item *items)
{
    uint32_t rank = work->task.rank, ranks = work->task.ranks;
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    bool arrived = false;
    GF_UNROLL
    for (uint32_t k = 0; k < GF_RANKS_AT_ONCE; k++)
        if (first + k == rank)
            items[k] = own;
    while (!arrived && error == GF_KERNEL_OK) {
        arrived = true;
        GF_UNROLL
        for (uint32_t k = 0; k < GF_RANKS_AT_ONCE; k++)
            if (first + k < ranks && first + k != rank)
                arrived &= gf_load_ll_item(work->peers[first + k].from + part->region + i * GF_ITEM_LL_BYTES, &items[k],
                                           gf_item_lines(bytes), part->flag);
        if (!arrived)
            error = gf_wait_more(team, &work->task, &wait);
    }
    return error;
}

/* Out of line: all pairs of type and operation in one place, fetched once. */
GF_NOINLINE union gf_item gf_reduce_any(enum gf_type type, enum gf_op op, union gf_item a, union gf_item b)
{
    return gf_reduce_item(type, op, a, b);
}

GF_INLINE enum gf_kernel_error gf_one_shot_reduce(const struct gf_team *team, const struct gf_one_shot_work *work,
                                                  const struct gf_one_shot_part *part, union gf_item own)
{
    enum gf_op op = (enum gf_op)work->data.op;
    enum gf_type type = gf_canonical_type((enum gf_type)work->data.type, op);
    uint32_t ranks = work->task.ranks;
    uint64_t item_count = gf_part_units(part, gf_ll_unit());
    GF_ROLL
    for (uint64_t i = team->thread; i < item_count; i += team->threads) {
        uint32_t bytes = gf_valid_bytes(part, i);
        union gf_item result = {{0}};
        if (i != team->thread)
            own = gf_load_ragged(part->own + i * GF_ITEM_BYTES, bytes);
        GF_ROLL
        for (uint32_t first = 0; first < ranks; first += GF_RANKS_AT_ONCE) {
            union gf_item items[GF_RANKS_AT_ONCE];
            enum gf_kernel_error error = gf_one_shot_gather(team, work, part, i, own, bytes, first, items);
            if (error != GF_KERNEL_OK)
                return error;
            GF_UNROLL
            for (uint32_t k = 0; k < GF_RANKS_AT_ONCE; k++)
                if (first + k < ranks)
                    result = first + k == 0 ? items[k] : gf_reduce_any(type, op, result, items[k]);
        }
        gf_store_ragged(team, part->out + i * GF_ITEM_BYTES, result, bytes);
    }
    return GF_KERNEL_OK;
}

GF_INLINE void gf_allreduce_one_shot(const struct gf_team *team, const struct gf_one_shot_work *work)
{
    uint32_t blocks = gf_one_shot_blocks(team->blocks, gf_one_shot_slot_units(work, gf_ll_unit()));
    uint64_t bytes = work->data.count * gf_element_bytes((enum gf_type)work->data.type);
    bool failed = team->block >= blocks;
    for (uint32_t piece = 0; piece < work->pieces && !failed; piece++) {
        struct gf_one_shot_part part = gf_one_shot_cut(team, work, gf_ll_unit(), piece, blocks, bytes);
        union gf_item own = gf_one_shot_send(team, work, &part);
        enum gf_kernel_error error = gf_one_shot_reduce(team, work, &part, own);
        if (error != GF_KERNEL_OK)
            gf_publish_error(team, work->task.error, error);
        failed = error != GF_KERNEL_OK;
        if (GF_MUTANT != GF_MUTANT_NO_BARRIER)
            failed = gf_team_any(team, failed);
    }
    gf_task_finish(team, &work->task);
}

#endif
