/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threads that run streams and blocks. Who will run jobs that wait for one another reserves the threads first; then every
 * job that is given has a thread at once, and no thread is made while work runs.
 */
#ifndef GF_DEVICE_EMULATED_POOL_H
#define GF_DEVICE_EMULATED_POOL_H

#include <stddef.h>

#include "base/status.h"

typedef struct gf_pool gf_pool;

/* Owned by who gives it, who keeps it until the job has begun to return. */
struct gf_job {
    void (*run)(void *argument);
    void *argument;
    struct gf_job *next;         /* the pool's */
    struct gf_crew *crew;        /* the pool's */
};

gf_pool *gf_pool_create(struct gf_reason *why);

/* All jobs have returned. Ends the threads and waits for them. */
void gf_pool_destroy(gf_pool *pool);

/* From now on `threads` more jobs may be under way at a time; makes the threads that are missing. Nothing is reserved
 * on failure. */
gf_status gf_pool_reserve(gf_pool *pool, size_t threads, struct gf_reason *why);

/* Takes a reservation back. The threads stay for the next one. */
void gf_pool_release(gf_pool *pool, size_t threads);

/* Starts one job within a reservation. */
void gf_pool_start(gf_pool *pool, struct gf_job *job);

/* Runs all jobs at once, the first in the calling thread, the others within a reservation of count - 1, and waits for all. */
void gf_pool_run_together(gf_pool *pool, struct gf_job *jobs, size_t count);

#endif
