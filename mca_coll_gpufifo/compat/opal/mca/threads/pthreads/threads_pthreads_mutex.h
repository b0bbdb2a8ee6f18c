/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stand-in for a header that opal/mca/threads/mutex.h of Open MPI 5 includes and that is not installed: what its mutex and
 * its condition are on POSIX threads. The types must have the size they have in libopen-pal; only non-recursive locking
 * is needed here.
 */
#ifndef OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_MUTEX_H
#define OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>

#include "opal_config.h"
#include "opal/class/opal_object.h"
#include "opal/constants.h"

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *mutex)
{
    (void)pthread_mutex_lock(mutex);
}

/* 0: taken, 1: not. */
static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex) != 0;
}

static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *mutex)
{
    (void)pthread_mutex_unlock(mutex);
}

#endif
