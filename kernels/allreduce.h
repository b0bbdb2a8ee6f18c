/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce, two ways: one-shot over LL lines for small messages, a ring over FIFOs for large ones.
 * All ranks get the same bits: one-shot reduces in rank order everywhere, and in the ring each element is reduced along one
 * path, whose result goes to all.
 */
#ifndef GF_KERNELS_ALLREDUCE_H
#define GF_KERNELS_ALLREDUCE_H

#include "kernels/fifo.h"
#include "kernels/ll.h"
#include "kernels/simple.h"
#include "kernels/task.h"

/* ---- one-shot ----
 *
 * Why two slots a peer suffice, with no head. In epoch e + 2 rank r overwrites the lines of epoch e at peer q; by then q
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

/* ---- ring ---- */

/* What a block needs in each step. The connections are its own copies; `step` goes back at the end. */
struct gf_ring {
    const struct gf_ring_work *work;
    struct gf_conn send, recv;
    enum gf_type type;
    enum gf_op op;
};

/* Where the data of a step of the allgather are. */
struct gf_ring_lent {
    bool came;                    /* in the receive buffer already */
    bool stay;                    /* go from there to the next rank's, without a slot */
};

/* REPLACE and NO_OP are not symmetrical: they mean the data of the last rank and of the first one, which may come at any step. */
GF_INLINE enum gf_op gf_ring_op(enum gf_op op, uint32_t rank, uint32_t ranks)
{
    if (op == GF_REPLACE || op == GF_NO_OP)
        return rank == (op == GF_REPLACE ? ranks - 1 : 0) ? GF_REPLACE : GF_NO_OP;
    return op;
}

/* The whole team, in step s of the allgather; null for a direction that it does not use. False: leave. */
GF_INLINE bool gf_ring_look(const struct gf_team *team, struct gf_ring *ring, uint32_t lends, uint32_t s,
                            const struct gf_conn *recv, const struct gf_conn *send, struct gf_ring_lent *lent)
{
    const struct gf_ring_work *work = ring->work;
    enum gf_kernel_error error = GF_KERNEL_OK;
    bool came = false, stay = false;
    if (recv && s >= work->task.ranks && lends & GF_RING_RECV_LENT && team->thread == 0)
        came = gf_fifo_came_lent(recv);
    if (send && lends & GF_RING_SEND_LENT && team->thread == team->threads / 2)
        error = gf_fifo_wait_answer(team, &work->task, send, &stay);
    if (error != GF_KERNEL_OK)
        gf_publish_error(team, work->task.error, error);
    lent->came = gf_team_any(team, came);
    lent->stay = gf_team_any(team, stay);
    return !gf_team_any(team, error != GF_KERNEL_OK);
}

/* Step s of 2 · ranks - 1: reduce what came from the previous rank with our own (s < ranks), store what is final
 * (s ≥ ranks - 1), send it on; all in one pass. False: leave. */
GF_INLINE bool gf_ring_step(const struct gf_team *team, struct gf_ring *ring, uint32_t lends, uint32_t s, uint64_t at,
                            uint64_t bytes)
{
    const struct gf_ring_work *work = ring->work;
    uint32_t ranks = work->task.ranks;
    struct gf_conn *recv = s > 0 ? &ring->recv : NULL;
    struct gf_conn *send = s < 2 * ranks - 2 ? &ring->send : NULL;
    if (!gf_fifo_begin(team, &work->task, recv, send, (uint32_t)bytes))
        return false;

    const char *own = s < ranks ? (const char *)work->data.send + at : NULL;
    char *out = s >= ranks - 1 ? (char *)work->data.recv + at : NULL;
    struct gf_ring_lent lent = {false, false};
    if (out && lends && !gf_ring_look(team, ring, lends, s, recv, send, &lent))
        return false;

    char *on = send && !lent.stay ? gf_fifo_slot(send) : NULL;
    struct gf_move move;
    move.a = lent.came ? out : recv ? gf_fifo_slot(recv) : own;
    move.b = recv ? own : NULL;
    move.more = NULL;
    move.more_at = 0;
    move.more_count = 0;
    move.out = out && !lent.came ? out : on;
    move.out2 = out && !lent.came ? on : NULL;
    move.outs = NULL;
    move.out_count = 0;
    move.bytes = lends && !move.out ? 0 : bytes;
    gf_move_chunk(team, move, ring->type, gf_ring_op(ring->op, work->task.rank, ranks));

    gf_fifo_end(team, recv, send, (uint32_t)bytes);
    return true;
}

/* Piece p of a round lies in the p-th share of the data, of which each block has a part, and goes through it slot by slot. So the
 * order in which an element is reduced depends on its share alone: from place p + 1 of the ring round to place p. False:
 * it has left. */
GF_INLINE bool gf_ring_shares(const struct gf_team *team, struct gf_ring *ring, uint32_t lends, uint64_t total)
{
    uint32_t place = ring->work->place, ranks = ring->work->task.ranks;
    uint64_t most = ring->send.slot_bytes, share = gf_even_share(total, ranks);
    struct gf_range part = gf_block_range(team, share);
    for (uint64_t first = part.begin; first < part.end; first += most) {
        uint64_t length = part.end - first < most ? part.end - first : most;
        for (uint32_t s = 0; s < 2 * ranks - 1; s++) {
            uint32_t piece = (place + 2 * ranks - 1 - s) % ranks;
            uint64_t at = piece * share + first < total ? piece * share + first : total;
            uint64_t bytes = total - at < length ? total - at : length;
            if (!gf_ring_step(team, ring, lends, s, at, bytes))
                return false;
        }
    }
    return true;
}

/* lends: of enum gf_ring_lends. */
GF_INLINE void gf_ring_run(const struct gf_team *team, const struct gf_ring_work *work, uint32_t lends)
{
    uint64_t bytes = work->data.count * gf_element_bytes((enum gf_type)work->data.type);

    if (work->task.ranks == 1) {
        struct gf_range range = gf_block_range(team, bytes);
        gf_copy_bytes(team, (char *)work->data.recv + range.begin, (const char *)work->data.send + range.begin,
                      range.end - range.begin);
    } else {
        struct gf_ring ring = {work, work->send[team->block], work->recv[team->block],
                               (enum gf_type)work->data.type, (enum gf_op)work->data.op};
        gf_team_barrier(team);    /* all threads have their copies before one writes the steps back */
        if (gf_ring_shares(team, &ring, lends, bytes) && lends & GF_RING_SEND_LENT && team->thread == 0) {
            enum gf_kernel_error error = gf_fifo_wait_over(team, &work->task, &ring.send);
            if (error != GF_KERNEL_OK)
                gf_publish_error(team, work->task.error, error);
        }
        if (team->thread == 0) {
            work->send[team->block].step = ring.send.step;
            work->recv[team->block].step = ring.recv.step;
        }
    }
    gf_task_finish(team, &work->task);
}

/* Nothing is lent: a kernel of its own, since the code for what is lent costs each step of it, too. */
GF_INLINE void gf_allreduce_ring(const struct gf_team *team, const struct gf_ring_work *work)
{
    gf_ring_run(team, work, 0);
}

GF_INLINE void gf_allreduce_ring_lent(const struct gf_team *team, const struct gf_ring_work *work)
{
    gf_ring_run(team, work, work->lends);
}

#endif
