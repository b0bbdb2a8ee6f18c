/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that wait for nobody: a reduction of buffers that lie ready, and a list of copies.
 */
#ifndef GF_KERNELS_LOCAL_H
#define GF_KERNELS_LOCAL_H

#include "kernels/simple.h"
#include "kernels/task.h"

GF_INLINE void gf_reduce_local(const struct gf_team *team, const struct gf_local_work *work)
{
    struct gf_range range = gf_block_range(team, work->count * gf_element_bytes((enum gf_type)work->type));
    struct gf_move move;
    move.a = (const char *)work->inputs[0] + range.begin;
    move.b = NULL;
    move.more = work->inputs + 1;
    move.more_at = range.begin;
    move.more_count = work->input_count - 1;
    move.out = (char *)work->recv + range.begin;
    move.out2 = NULL;
    move.outs = NULL;
    move.out_count = 0;
    move.bytes = range.end - range.begin;
    gf_move_chunk(team, move, (enum gf_type)work->type, (enum gf_op)work->op);
    gf_task_finish(team, &work->task);
}

enum { GF_SHARED_PIECE = 1 << 18 };   /* bytes from which all blocks work on one piece; smaller pieces go round the blocks */

GF_INLINE void gf_copy_list(const struct gf_team *team, const struct gf_copy_work *work)
{
    for (uint64_t i = 0; i < work->count; i++) {
        struct gf_piece piece = work->pieces[i];
        struct gf_range range = {0, piece.bytes};
        if (piece.bytes >= GF_SHARED_PIECE)
            range = gf_block_range(team, piece.bytes);
        else if (i % team->blocks != team->block)
            continue;
        gf_copy_bytes(team, (char *)piece.to + range.begin, (const char *)piece.from + range.begin, range.end - range.begin);
    }
    gf_task_finish(team, &work->task);
}

#endif
