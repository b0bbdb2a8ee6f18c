/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the emulated device: ordered queues of operations, each run to its end by the stream's worker. What an
 * operation does is its own affair (emulated_copy.c, emulated_launch.c).
 */
#ifndef GF_DEVICE_EMULATED_STREAM_H
#define GF_DEVICE_EMULATED_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "device/emulated_options.h"
#include "device/emulated_pool.h"
#include "device/emulated_solo.h"
#include "kernels/team.h"

/* One unit of a stream's work, on the heap, as the first member of something larger. The stream frees it when it has run. */
struct gf_operation {
    void (*run)(struct gf_operation *self, gf_stream *stream);
    struct gf_operation *next;     /* the stream's */
    uint64_t ticket;               /* the stream's */
};

/* What all streams of a device have in common. */
struct gf_emulated_queues {
    gf_pool *pool;
    struct gf_emulated_options options;
    struct gf_solo solo;
    int kernels;                   /* that run; atomic */
    pthread_mutex_t lock;          /* guards what follows, and what the streams say it guards */
    pthread_cond_t done;           /* some operation or kernel has finished */
    int blocks;                    /* of kernels that run */
    int held_up;                   /* who waits here lets nothing be queued meanwhile */
    uint64_t last_ticket;          /* tickets are given in the order of submission, over all streams */
    gf_stream *streams;
    size_t created;                /* streams so far: each has delays of its own */
};

struct gf_stream {
    struct gf_emulated_queues *queues;
    gf_stream *next;               /* in queues->streams */
    struct gf_job job;             /* the worker */

    pthread_cond_t work;           /* this and the next: guarded by queues->lock */
    struct gf_operation *first, **last;
    uint64_t oldest;               /* ticket of the oldest operation that has not finished, 0: idle */
    bool ending, ended;

    uint64_t random;               /* the worker's */

    size_t helpers;                /* the caller's: threads reserved beside the worker, for the blocks of a launch */
    struct gf_block **blocks;      /* the caller's: [options.blocks], made by the first launch that needs them */
};

gf_status gf_emulated_queues_init(struct gf_emulated_queues *queues, const struct gf_emulated_options *options,
                                  struct gf_reason *why);

/* No stream is left. */
void gf_emulated_queues_clear(struct gf_emulated_queues *queues);

gf_status gf_emulated_stream_create(struct gf_emulated_queues *queues, gf_stream **stream, struct gf_reason *why);
void gf_emulated_stream_destroy(gf_stream *stream);       /* waits for its work */

/* Queues the operation; from now on the stream owns it. */
void gf_emulated_stream_push(gf_stream *stream, struct gf_operation *operation);

bool gf_emulated_stream_idle(gf_stream *stream);
void gf_emulated_stream_wait(gf_stream *stream);
void gf_emulated_queues_wait(struct gf_emulated_queues *queues);    /* for all that was queued before, in any stream */
bool gf_emulated_queues_idle(struct gf_emulated_queues *queues);    /* has all of it finished? */

/* The same wait, and whoever queues something is kept waiting, too: as CUDA does while it unmaps memory of another process. */
void gf_emulated_queues_hold_up(struct gf_emulated_queues *queues);

/* For operations: a number that depends on the seed, the stream and the number of calls before. */
uint64_t gf_emulated_stream_random(gf_stream *stream);

#endif
