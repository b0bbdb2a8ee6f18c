/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What staging keeps between calls, one pool a device: pinned bounce memory and lanes (streams), both expensive to make.
 *
 *   gf_staging       one a process, in the component's struct
 *   gf_stage_pool    one a device, made when the first buffer of that device is staged
 *   gf_stage_lane    a stream with the words that a copy kernel reports to; belongs to one call at a time
 *
 * Threads: all functions but create and destroy may be called from any thread. None waits for the device.
 */
#ifndef GF_MCA_STAGE_POOL_H
#define GF_MCA_STAGE_POOL_H

#include <pthread.h>

#include "device/device.h"

/* Bounce memory up to this size is kept for calls of any such size, */
#define GF_BOUNCE_KEEP_BYTES ((size_t)8 << 20)
/* of all these sizes together at most so much, per device. */
#define GF_BOUNCE_KEEP_TOTAL ((size_t)64 << 20)
/* Of larger memory the last that was used is kept for calls of about the same size, so much of it per device: to make it takes
 * longer than to copy what it holds. */
#define GF_BOUNCE_KEEP_LARGE ((size_t)256 << 20)

struct gf_device_memory;               /* device_memory.h */
struct gf_flattener;                   /* flatten.h */
struct gf_request_queue;               /* request.h */
struct gf_stage_pool;

struct gf_staging {
    pthread_mutex_t lock;              /* guards pools, and each pool's lists */
    struct gf_stage_pool *pools;
    struct gf_request_queue *requests;
    struct gf_flattener *flattener;
};

/* Pinned words of a lane. The copy kernel waits for nobody, so abort stays 0. */
struct gf_lane_words {
    uint64_t done;
    uint32_t error;
    uint32_t abort;
};

struct gf_stage_lane {
    gf_device *device;
    gf_stream *stream;
    bool shares;                       /* it is the pool's */
    struct gf_lane_words *words;       /* pinned; null: nothing can be launched */
    uint32_t *blocks_done;             /* device memory; null before the first launch */
    uint64_t ticket;
    struct gf_stage_pool *pool;
    struct gf_stage_lane *next;        /* the pool's idle lanes */
};

/* Null when memory is out. destroy: after the last staged request, before the devices close; null is allowed. */
struct gf_staging *gf_staging_create(void);
void gf_staging_destroy(struct gf_staging *staging);

/* The pool of a device, by its ordinal; lives as long as staging. Made when the device is opened, for it keeps the one stream
 * without which nothing moves. */
gf_status gf_stage_pool_get(struct gf_staging *staging, int ordinal, struct gf_stage_pool **pool, struct gf_reason *why);
gf_device *gf_stage_pool_device(const struct gf_stage_pool *pool);
/* A stream for copies and kernels that wait for nobody, shared by who cannot have another; null: there was no memory for it. */
gf_stream *gf_stage_pool_stream(const struct gf_stage_pool *pool);
/* Its device memory. */
struct gf_device_memory *gf_stage_pool_memory(const struct gf_stage_pool *pool);
/* The process's flattener. */
struct gf_flattener *gf_stage_pool_flattener(const struct gf_stage_pool *pool);

/* Pinned memory of at least that size, page-aligned, contents undefined. free takes the same size. */
gf_status gf_bounce_alloc(struct gf_stage_pool *pool, size_t bytes, void **address, struct gf_reason *why);
void gf_bounce_free(struct gf_stage_pool *pool, void *address, size_t bytes);

/* A lane without work of its own in its stream, and back again: the caller has seen its work end. */
gf_status gf_lane_acquire(struct gf_stage_pool *pool, struct gf_stage_lane **lane, struct gf_reason *why);
void gf_lane_release(struct gf_stage_lane *lane);

/* Before a launch in the lane's stream: makes blocks_done, if there is none yet. GF_ERR_NO_MEMORY: the device is full, so
 * nothing can be launched; copies can. */
gf_status gf_lane_count_blocks(struct gf_stage_lane *lane, struct gf_reason *why);

/* The task of a kernel that waits for nobody, to be launched in the lane's stream after that. */
struct gf_task gf_lane_task(struct gf_stage_lane *lane);

#endif
