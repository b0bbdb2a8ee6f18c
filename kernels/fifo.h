/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A FIFO of slots between two kernels (struct gf_conn), and the waits of a kernel: each looks at the abort word and at
 * its deadline.
 *
 * The slots are in the receiver's memory or in the sender's; the code is the same, and so is what it must keep in order:
 *   payload before tail   At the receiver, both are stores to afar, and may arrive the other way round. At the sender, payload
 *                         stays at home and tail alone travels: it may arrive before payload has left the sender's processor.
 *                         The release of tail at system scope, after the block's barrier, prevents either.
 *   tail before payload   The receiver loads payload after it has acquired tail. From afar such a load is a request that could
 *                         have gone out before, or find in the first-level cache what the slot held a lap ago: the acquire
 *                         excludes both.
 *   payload before head   head licenses the sender to overwrite the slot. A load from afar has happened only when its answer
 *                         is back; head is released after the barrier, and a release comes after all loads before it. At the
 *                         end of its life the sender gives slots back only when head says that all are read (core/ring.h, drain).
 */
#ifndef GF_KERNELS_FIFO_H
#define GF_KERNELS_FIFO_H

#include "kernels/ordered.h"

/* The abort word is pinned host memory, a microsecond away from a GPU; on the emulated device each poll already yields
 * the core. */
#ifdef __CUDACC__
enum { GF_POLLS_A_CHECK = 1024 };
#else
enum { GF_POLLS_A_CHECK = 16 };
#endif

/* One wait: starts as zeros. */
struct gf_wait {
    uint64_t began_ns;
    uint32_t polls;
};

/* After a poll in vain: GF_KERNEL_OK to poll again, otherwise why to leave. */
GF_INLINE enum gf_kernel_error gf_wait_more(const struct gf_team *team, const struct gf_task *task, struct gf_wait *wait)
{
    gf_pause(team);
    if (++wait->polls % GF_POLLS_A_CHECK != 0)
        return GF_KERNEL_OK;
    if (gf_observe_abort(task->abort))
        return GF_KERNEL_ABORTED;
    if (task->deadline_ns == 0)
        return GF_KERNEL_OK;
    uint64_t now = gf_clock_ns();
    if (wait->began_ns == 0)
        wait->began_ns = now;
    return now - wait->began_ns > task->deadline_ns ? GF_KERNEL_TIMEOUT : GF_KERNEL_OK;
}

GF_INLINE char *gf_fifo_slot(const struct gf_conn *conn)
{
    return conn->slots + conn->step % GF_FIFO_DEPTH * conn->slot_bytes;
}

GF_INLINE uint32_t *gf_fifo_size(const struct gf_conn *conn)
{
    return conn->size + conn->step % GF_FIFO_DEPTH;
}

/* Sender, one thread: until the slot of this step may be overwritten. */
GF_INLINE enum gf_kernel_error gf_fifo_wait_room(const struct gf_team *team, const struct gf_task *task,
                                                 const struct gf_conn *send)
{
    uint64_t depth = GF_MUTANT == GF_MUTANT_DEEP ? GF_FIFO_DEPTH + 1 : GF_FIFO_DEPTH;
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    while (error == GF_KERNEL_OK && send->step >= gf_observe_head(send->head) + depth)
        error = gf_wait_more(team, task, &wait);
    return error;
}

/* Receiver, one thread: until the slot of this step is filled, with `bytes` bytes as both ends must think. */
GF_INLINE enum gf_kernel_error gf_fifo_wait_data(const struct gf_team *team, const struct gf_task *task,
                                                 const struct gf_conn *recv, uint32_t bytes)
{
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    while (error == GF_KERNEL_OK && recv->step >= gf_observe_tail(recv->tail))
        error = gf_wait_more(team, task, &wait);
    if (error == GF_KERNEL_OK && (gf_load_size(gf_fifo_size(recv)) & ~GF_SIZE_LENT) != bytes)
        error = GF_KERNEL_MISMATCH;
    return error;
}

/* Receiver, one thread, after that: are the data in the buffer that was lent, not in the slot? */
GF_INLINE bool gf_fifo_came_lent(const struct gf_conn *recv)
{
    return (gf_load_size(gf_fifo_size(recv)) & GF_SIZE_LENT) != 0;
}

/* Sender, one thread: until the hosts have answered for this step. *lent: its data go from where they are, not from the slot. */
GF_INLINE enum gf_kernel_error gf_fifo_wait_answer(const struct gf_team *team, const struct gf_task *task,
                                                   const struct gf_conn *send, bool *lent)
{
    const uint64_t *answer = send->answers + send->step % GF_FIFO_DEPTH;
    uint64_t said = gf_observe_answer(answer);
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    while (error == GF_KERNEL_OK && said / 2 != send->step + 1) {
        error = gf_wait_more(team, task, &wait);
        said = gf_observe_answer(answer);
    }
    *lent = said % 2 != 0;
    return error;
}

/* Who goes to the other end's buffers, one thread, before the first step of a launch: until that end has told where they are. */
GF_INLINE enum gf_kernel_error gf_fifo_wait_address(const struct gf_team *team, const struct gf_task *task,
                                                    const struct gf_conn *conn)
{
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    while (error == GF_KERNEL_OK && !gf_observe_address(conn->address, conn->step))
        error = gf_wait_more(team, task, &wait);
    return error;
}

/* Sender, one thread: until all steps are over, so what was lent, or read where it lay, is its owner's again. */
GF_INLINE enum gf_kernel_error gf_fifo_wait_over(const struct gf_team *team, const struct gf_task *task,
                                                 const struct gf_conn *send)
{
    enum gf_kernel_error error = GF_KERNEL_OK;
    struct gf_wait wait = {0, 0};
    while (error == GF_KERNEL_OK && gf_observe_head(send->head) < send->step)
        error = gf_wait_more(team, task, &wait);
    return error;
}

/* The whole team: until this step can be made; null for a direction that it does not use. False: leave.
 * Two threads wait side by side, and the barrier gives all others what these have observed. */
GF_INLINE bool gf_fifo_begin(const struct gf_team *team, const struct gf_task *task, const struct gf_conn *recv,
                             const struct gf_conn *send, uint32_t bytes)
{
    enum gf_kernel_error error = GF_KERNEL_OK;
    if (recv && team->thread == 0)
        error = gf_fifo_wait_data(team, task, recv, bytes);
    if (send && team->thread == team->threads / 2 && error == GF_KERNEL_OK)
        error = gf_fifo_wait_room(team, task, send);
    if (error != GF_KERNEL_OK)
        gf_publish_error(team, task->error, error);
    return !gf_team_any(team, error != GF_KERNEL_OK);
}

/* Sender, one thread: this step's slot is filled. */
GF_INLINE void gf_fifo_publish(const struct gf_team *team, const struct gf_conn *send, uint32_t bytes)
{
    if (GF_MUTANT != GF_MUTANT_LATE_SIZE)
        gf_store_size(team, gf_fifo_size(send), bytes);
    gf_publish_tail(team, send->tail, send->step + 1);
    if (GF_MUTANT == GF_MUTANT_LATE_SIZE)
        gf_store_size(team, gf_fifo_size(send), bytes);
}

/* The whole team: this step's payload is read and written; both ends move on. The two releases are made side by side. */
GF_INLINE void gf_fifo_end(const struct gf_team *team, struct gf_conn *recv, struct gf_conn *send, uint32_t bytes)
{
    if (GF_MUTANT != GF_MUTANT_EARLY_TAIL)
        gf_team_barrier(team);
    if (send && team->thread == 0)
        gf_fifo_publish(team, send, bytes);
    if (recv && team->thread == team->threads / 2)
        gf_publish_head(team, recv->head, recv->step + 1);
    if (send)
        send->step++;
    if (recv)
        recv->step++;
}

#endif
