/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two-shot allreduce over buffers that all ranks have mapped (struct gf_two_shot_work): no copy but the one that is asked for.
 *
 * Each element is reduced by one thread of one rank, in an order that the host chose, and stored to all ranks: all get the same
 * bits. That thread alone loads it, from all ranks' send buffers, before it stores it, so send and receive buffers may be the
 * same.
 *
 * One meeting a launch, at its end. Before it nothing has to be waited for: that a peer has entered, its data lie ready and its
 * receive buffer may be written, is known before the launch. After it a rank's result is complete, for all blocks of all ranks
 * have told that they have stored theirs, and its send buffer is its own again, for they have loaded from it before.
 */
#ifndef GF_KERNELS_TWO_SHOT_H
#define GF_KERNELS_TWO_SHOT_H

#include "kernels/fifo.h"
#include "kernels/simple.h"
#include "kernels/task.h"

GF_INLINE uint64_t *gf_part_flag(char *flags, uint32_t rank, uint32_t block)
{
    return (uint64_t *)(flags + ((uint64_t)rank * GF_MAX_CHANNELS + block) * GF_LINE);
}

GF_INLINE const void *const *gf_two_shot_sends(const struct gf_two_shot_work *work)
{
    return (const void *const *)work->addresses;
}

GF_INLINE void *const *gf_two_shot_recvs(const struct gf_two_shot_work *work)
{
    return work->addresses + work->task.ranks;
}

GF_INLINE char *gf_two_shot_flags(const struct gf_two_shot_work *work, uint32_t rank)
{
    return (char *)work->addresses[2 * work->task.ranks + rank];
}

/* What this block reduces: its share of the rank's share, in bytes. */
GF_INLINE struct gf_range gf_two_shot_range(const struct gf_team *team, const struct gf_two_shot_work *work)
{
    uint64_t total = work->data.count * gf_element_bytes((enum gf_type)work->data.type);
    uint64_t share = gf_even_share(total, work->task.ranks);
    uint64_t begin = work->task.rank * share < total ? work->task.rank * share : total;
    struct gf_range range = gf_block_range(team, total - begin < share ? total - begin : share);
    range.begin += begin;
    range.end += begin;
    return range;
}

/* From all ranks' send buffers, in their order, to all ranks' receive buffers. */
GF_INLINE void gf_two_shot_reduce(const struct gf_team *team, const struct gf_two_shot_work *work)
{
    struct gf_range range = gf_two_shot_range(team, work);
    const void *const *sends = gf_two_shot_sends(work);
    void *const *recvs = gf_two_shot_recvs(work);
    struct gf_move move;
    move.a = (const char *)sends[0] + range.begin;
    move.b = work->task.ranks > 1 ? (const char *)sends[1] + range.begin : NULL;
    move.more = sends + 2;
    move.more_at = range.begin;
    move.more_count = work->task.ranks > 2 ? work->task.ranks - 2 : 0;
    move.out = (char *)recvs[0] + range.begin;
    move.out2 = NULL;
    move.outs = recvs + 1;
    move.out_count = work->task.ranks - 1;
    move.bytes = range.end - range.begin;
    gf_move_chunk(team, move, (enum gf_type)work->data.type, (enum gf_op)work->data.op);
}

/* The whole team: tells all peers that this block is done, and waits until each peer's block of the same number is. */
GF_INLINE void gf_two_shot_meet(const struct gf_team *team, const struct gf_two_shot_work *work)
{
    uint32_t rank = work->task.rank, ranks = work->task.ranks;
    enum gf_kernel_error error = GF_KERNEL_OK;
    if (GF_MUTANT != GF_MUTANT_EARLY_FLAG)
        gf_team_barrier(team);
    for (uint32_t q = team->thread; q < ranks; q += team->threads)
        if (q != rank)
            gf_publish_part(team, gf_part_flag(gf_two_shot_flags(work, q), rank, team->block), work->epoch);
    if (GF_MUTANT == GF_MUTANT_NO_MEETING)
        return;
    for (uint32_t q = team->thread; q < ranks && error == GF_KERNEL_OK; q += team->threads) {
        const uint64_t *flag = gf_part_flag(gf_two_shot_flags(work, rank), q, team->block);
        struct gf_wait wait = {0, 0};
        while (q != rank && error == GF_KERNEL_OK && gf_observe_part(flag) < work->epoch)
            error = gf_wait_more(team, &work->task, &wait);
    }
    if (error != GF_KERNEL_OK)
        gf_publish_error(team, work->task.error, error);
}

GF_INLINE void gf_allreduce_two_shot(const struct gf_team *team, const struct gf_two_shot_work *work)
{
    gf_two_shot_reduce(team, work);
    gf_two_shot_meet(team, work);
    gf_task_finish(team, &work->task);
}

#endif
