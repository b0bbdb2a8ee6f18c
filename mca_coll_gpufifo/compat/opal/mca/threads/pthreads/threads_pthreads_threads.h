/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stand-in for a header that opal/mca/threads/threads.h of Open MPI 5 includes and that is not installed.
 */
#ifndef OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_THREADS_H
#define OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_THREADS_H

#include <pthread.h>
#include <sched.h>

#define OPAL_THREAD_YIELD_WHEN_IDLE_DEFAULT false

static inline void opal_thread_yield(void)
{
    (void)sched_yield();
}

#endif
