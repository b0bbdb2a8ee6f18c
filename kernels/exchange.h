/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An exchange over buffers that all ranks have mapped (struct gf_exchange_work): each rank fetches what its peers have for it,
 * or swaps with them.
 *
 * No kernel waits for another. That the data of a peer lie ready, and in a swap that its buffer may be written, is known before
 * the launch; afterwards the hosts meet. So it is right also where kernels of several ranks cannot run at once.
 */
#ifndef GF_KERNELS_EXCHANGE_H
#define GF_KERNELS_EXCHANGE_H

#include "kernels/simple.h"
#include "kernels/task.h"

/* Each gets what the other had. A thread has loaded both before it stores either, and nobody else touches these bytes. */
GF_INLINE void gf_swap_bytes(const struct gf_team *team, char *x, char *y, uint64_t bytes)
{
    GF_ROLL
    for (uint64_t i = (uint64_t)team->thread * GF_ITEM_BYTES; i < bytes; i += (uint64_t)team->threads * GF_ITEM_BYTES) {
        uint32_t valid = bytes - i < GF_ITEM_BYTES ? (uint32_t)(bytes - i) : GF_ITEM_BYTES;
        union gf_item from_x = gf_load_ragged(x + i, valid), from_y = gf_load_ragged(y + i, valid);
        gf_store_ragged(team, x + i, from_y, valid);
        gf_store_ragged(team, y + i, from_x, valid);
    }
}

/* This block's part of all pieces. */
GF_INLINE void gf_exchange_pieces(const struct gf_team *team, const struct gf_exchange_work *work)
{
    uint64_t begin = team->block * work->share, end = begin + work->share, at = 0;
    GF_ROLL
    for (uint32_t i = 0; i < work->count && at < end; i++) {
        struct gf_piece piece = work->pieces[i];
        uint64_t first = begin > at ? begin - at : 0;
        uint64_t behind = end - at < piece.bytes ? end - at : piece.bytes;
        char *to = (char *)piece.to + first;
        if (first < behind && work->swap)
            gf_swap_bytes(team, to, (char *)(uintptr_t)piece.from + first, behind - first);
        else if (first < behind)
            gf_copy_bytes(team, to, (const char *)piece.from + first, behind - first);
        at += (piece.bytes + GF_LINE - 1) / GF_LINE * GF_LINE;
    }
}

GF_INLINE void gf_exchange(const struct gf_team *team, const struct gf_exchange_work *work)
{
    gf_exchange_pieces(team, work);
    if (work->swap) {
        gf_team_barrier(team);
        if (team->thread == 0)
            gf_flush_peer_writes(team);
    }
    gf_task_finish(team, &work->task);
}

#endif
