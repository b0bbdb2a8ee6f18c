/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ring allreduce over FIFOs, for large messages. All ranks get the same bits: each element is reduced along one path, whose
 * result goes to all.
 *
 * Three kernels, since the code for what one of them needs would cost each step of the others, too: by slots; by slots and what
 * hosts have moved into the receive buffer (which is lent); and straight to a neighbour's buffers, without slots where the data
 * lie in buffers of the program at both ends of a step. Of the last:
 *   To write needs the receiver's word that it has entered, which its address is. What is written is a result; in place, it goes
 *       over what the receiver has brought to that very result, so that has been loaded before.
 *   To read is what tail licenses, wherever the data lie; head tells the owner that it has happened. In place, a rank's own data
 *       are overwritten by the result to which they went, likewise. A rank leaves when all has been read.
 */
#ifndef GF_KERNELS_RING_H
#define GF_KERNELS_RING_H

#include "kernels/fifo.h"
#include "kernels/ring_work.h"
#include "kernels/simple.h"
#include "kernels/task.h"

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

/* The buffers of the neighbour to which this rank goes. */
struct gf_ring_direct {
    bool reads;
    char *send, *recv;
};

/* The whole team, before the first step: tells the one neighbour where this rank's buffers are, and learns where those of the
 * other one are. False: leave. */
GF_INLINE bool gf_ring_meet(const struct gf_team *team, const struct gf_ring *ring, const struct gf_ring_direct_work *work,
                            struct gf_ring_direct *direct)
{
    const struct gf_conn *tell = work->reads ? &ring->send : &ring->recv, *learn = work->reads ? &ring->recv : &ring->send;
    enum gf_kernel_error error = GF_KERNEL_OK;
    if (team->thread == 0)
        gf_publish_address(team, tell->address, tell->step, work->mine);
    if (team->thread == team->threads / 2)
        error = gf_fifo_wait_address(team, &ring->work->task, learn);
    if (error != GF_KERNEL_OK)
        gf_publish_error(team, ring->work->task.error, error);
    if (gf_team_any(team, error != GF_KERNEL_OK))
        return false;
    uint64_t send = gf_load_payload64(learn->address + 1), recv = gf_load_payload64(learn->address + 2);
    uint64_t offset = ((uint64_t)1 << GF_ADDRESS_OFFSET_BITS) - 1;
    direct->reads = work->reads;
    direct->send = work->places[send >> GF_ADDRESS_OFFSET_BITS] + (send & offset);
    direct->recv = work->places[recv >> GF_ADDRESS_OFFSET_BITS] + (recv & offset);
    return true;
}

/* gf_ring_step straight to the neighbour's buffers. What is sent in step s comes in step s + 1 of the next rank. */
GF_INLINE bool gf_ring_direct_step(const struct gf_team *team, struct gf_ring *ring, const struct gf_ring_direct *direct,
                                   uint32_t s, uint64_t at, uint64_t bytes)
{
    const struct gf_ring_work *work = ring->work;
    uint32_t ranks = work->task.ranks;
    struct gf_conn *recv = s > 0 ? &ring->recv : NULL;
    struct gf_conn *send = s < 2 * ranks - 2 ? &ring->send : NULL;
    if (!gf_fifo_begin(team, &work->task, recv, send, (uint32_t)bytes))
        return false;

    const char *own = s < ranks ? (const char *)work->data.send + at : NULL;
    char *out = s >= ranks - 1 ? (char *)work->data.recv + at : NULL;
    const char *from = recv ? gf_fifo_slot(recv) : own;
    char *on = send ? gf_fifo_slot(send) : NULL;
    if (direct->reads) {
        from = s == 1 ? direct->send + at : s >= ranks ? direct->recv + at : from;
        on = s == 0 || out ? NULL : on;
    } else if (out) {
        from = s >= ranks ? out : from;
        on = send ? direct->recv + at : NULL;
        out = s >= ranks ? NULL : out;
    }
    struct gf_move move = {from, recv ? own : NULL, NULL, 0, 0, out ? out : on, out ? on : NULL, NULL, 0, out || on ? bytes : 0};
    gf_move_chunk(team, move, ring->type, gf_ring_op(ring->op, work->task.rank, ranks));

    gf_fifo_end(team, recv, send, (uint32_t)bytes);
    return true;
}

/* Piece p of a round lies in the p-th share of the data, of which each block has a part, and goes through it slot by slot. So the
 * order in which an element is reduced depends on its share alone: from place p + 1 of the ring round to place p. direct: null
 * for the other kernels. False: it has left. */
GF_INLINE bool gf_ring_shares(const struct gf_team *team, struct gf_ring *ring, uint32_t lends,
                              const struct gf_ring_direct *direct, uint64_t total)
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
            if (!(direct ? gf_ring_direct_step(team, ring, direct, s, at, bytes)
                         : gf_ring_step(team, ring, lends, s, at, bytes)))
                return false;
        }
    }
    return true;
}

/* One thread, behind all steps: what was lent, or read where it lay, is this rank's own again. */
GF_INLINE void gf_ring_reclaim(const struct gf_team *team, const struct gf_ring *ring)
{
    enum gf_kernel_error error = gf_fifo_wait_over(team, &ring->work->task, &ring->send);
    if (error != GF_KERNEL_OK)
        gf_publish_error(team, ring->work->task.error, error);
}

/* A block without a part of the data makes no step, and neither do those that it is connected to. */
GF_INLINE bool gf_ring_has_part(const struct gf_team *team, const struct gf_ring_work *work, uint64_t total)
{
    struct gf_range part = gf_block_range(team, gf_even_share(total, work->task.ranks));
    return part.begin < part.end;
}

/* lends: of enum gf_ring_lends. to: null for the other kernels. */
GF_INLINE void gf_ring_run(const struct gf_team *team, const struct gf_ring_work *work, uint32_t lends,
                           const struct gf_ring_direct_work *to)
{
    uint64_t bytes = work->data.count * gf_element_bytes((enum gf_type)work->data.type);

    if (work->task.ranks == 1) {
        struct gf_range range = gf_block_range(team, bytes);
        gf_copy_bytes(team, (char *)work->data.recv + range.begin, (const char *)work->data.send + range.begin,
                      range.end - range.begin);
    } else if (!to || gf_ring_has_part(team, work, bytes)) {
        struct gf_ring ring = {work, work->send[team->block], work->recv[team->block],
                               (enum gf_type)work->data.type, (enum gf_op)work->data.op};
        struct gf_ring_direct direct;
        bool waits = lends & GF_RING_SEND_LENT || (to && to->reads && GF_MUTANT != GF_MUTANT_LEAVE_UNREAD);
        gf_team_barrier(team);    /* all threads have their copies before one writes the steps back */
        if ((!to || gf_ring_meet(team, &ring, to, &direct)) && gf_ring_shares(team, &ring, lends, to ? &direct : NULL, bytes) &&
            waits && team->thread == 0)
            gf_ring_reclaim(team, &ring);
        if (team->thread == 0) {
            work->send[team->block].step = ring.send.step;
            work->recv[team->block].step = ring.recv.step;
        }
    }
    gf_task_finish(team, &work->task);
}

GF_INLINE void gf_allreduce_ring(const struct gf_team *team, const struct gf_ring_work *work)
{
    gf_ring_run(team, work, 0, NULL);
}

GF_INLINE void gf_allreduce_ring_lent(const struct gf_team *team, const struct gf_ring_work *work)
{
    gf_ring_run(team, work, work->lends, NULL);
}

GF_INLINE void gf_allreduce_ring_direct(const struct gf_team *team, const struct gf_ring_direct_work *work)
{
    gf_ring_run(team, &work->ring, 0, work);
}

#endif
