/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How every kernel ends, also one that gave up: the last block tells the host.
 */
#ifndef GF_KERNELS_TASK_H
#define GF_KERNELS_TASK_H

#include "kernels/ordered.h"

/* The whole team, as its last act. */
GF_INLINE void gf_task_finish(const struct gf_team *team, const struct gf_task *task)
{
    gf_team_barrier(team);
    if (team->thread == 0 && (team->blocks == 1 || gf_count_block_done(team, task->blocks_done)))
        gf_publish_done(team, task->done, task->ticket);
}

#endif
