/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who holds a request of ours. While it is active it has two holders: the program, which frees it by MPI_Request_free or by a
 * wait, and we, who complete it. Who lets go last gives it back: a thread that completes a request has not done with it when
 * another thread's wait for it returns.
 */
#ifndef GF_MCA_HOLD_H
#define GF_MCA_HOLD_H

#include <sched.h>
#include <stdatomic.h>

#include "mca_coll_gpufifo/ompi_abi.h"

enum gf_hold {
    GF_HOLD_BOTH,
    GF_HOLD_OURS,                      /* freed by the program, still under way */
    GF_HOLD_PROGRAM                    /* completed, or not started */
};

/* One of the two holders lets go; what the hold was before. A process with one thread need not pay for an atomic exchange. */
static inline int gf_hold_let_go(_Atomic int *hold, enum gf_hold rest)
{
    int before;

    if (opal_using_threads()) {
        return atomic_exchange(hold, rest);
    }
    before = atomic_load_explicit(hold, memory_order_relaxed);
    atomic_store_explicit(hold, rest, memory_order_relaxed);
    return before;
}

/* A persistent request that the program saw completed may still be in the callback's hands, in another thread: waits for that. */
static inline void gf_hold_await_callback(_Atomic int *hold)
{
    while (atomic_load(hold) != GF_HOLD_PROGRAM) {
        sched_yield();
    }
}

/* Before anyone else can see it. */
static inline void gf_hold_set(_Atomic int *hold, enum gf_hold value)
{
    atomic_store_explicit(hold, value, memory_order_relaxed);
}

#endif
