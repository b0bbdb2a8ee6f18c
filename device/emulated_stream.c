/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: queueing, the worker's loop, and waiting.
 */
#include "base/random.h"
#include "device/emulated_stream.h"

#include <stdlib.h>

static bool finished(const gf_stream *stream, uint64_t ticket)
{
    return stream->oldest == 0 || stream->oldest > ticket;
}

/* The worker: one a stream, until it is destroyed. */
static void run_stream(void *argument)
{
    gf_stream *stream = argument;
    struct gf_emulated_queues *queues = stream->queues;

    pthread_mutex_lock(&queues->lock);
    for (;;) {
        while (!stream->first && !stream->ending) {
            pthread_cond_wait(&stream->work, &queues->lock);
        }
        struct gf_operation *operation = stream->first;
        if (!operation) {
            break;
        }
        stream->first = operation->next;
        if (!stream->first) {
            stream->last = &stream->first;
        }
        pthread_mutex_unlock(&queues->lock);
        operation->run(operation, stream);
        free(operation);
        pthread_mutex_lock(&queues->lock);
        stream->oldest = stream->first ? stream->first->ticket : 0;
        pthread_cond_broadcast(&queues->done);
    }
    stream->ended = true;
    pthread_cond_broadcast(&queues->done);
    pthread_mutex_unlock(&queues->lock);
}

gf_status gf_emulated_queues_init(struct gf_emulated_queues *queues, const struct gf_emulated_options *options,
                                  struct gf_reason *why)
{
    *queues = (struct gf_emulated_queues){.pool = gf_pool_create(why), .options = *options};
    if (!queues->pool) {
        return GF_ERR_NO_MEMORY;
    }
    gf_solo_init(&queues->solo, options->solo, options->gpu);
    pthread_mutex_init(&queues->lock, NULL);
    pthread_cond_init(&queues->done, NULL);
    return GF_OK;
}

void gf_emulated_queues_clear(struct gf_emulated_queues *queues)
{
    gf_pool_destroy(queues->pool);
    gf_solo_clear(&queues->solo);
    pthread_cond_destroy(&queues->done);
    pthread_mutex_destroy(&queues->lock);
}

/* Of two threads that ask at a time, both may be told that there is. */
static bool has_room(struct gf_emulated_queues *queues)
{
    int count = 0;

    pthread_mutex_lock(&queues->lock);
    for (const gf_stream *stream = queues->streams; stream; stream = stream->next) {
        count++;
    }
    pthread_mutex_unlock(&queues->lock);
    return count < queues->options.streams;
}

gf_status gf_emulated_stream_create(struct gf_emulated_queues *queues, gf_stream **created, struct gf_reason *why)
{
    gf_stream *stream = calloc(1, sizeof *stream);
    struct gf_block **blocks = calloc((size_t)queues->options.blocks, sizeof *blocks);
    gf_status status = GF_ERR_NO_MEMORY;

    *created = NULL;
    if (!stream || !blocks) {
        gf_reason_set(why, "out of host memory");
    } else if (!has_room(queues)) {
        gf_reason_set(why, "%d streams are all that GPUFIFO_EMULATED allows (streams=N)", queues->options.streams);
    } else {
        status = gf_pool_reserve(queues->pool, 1, why);
    }
    if (status != GF_OK) {
        free(stream);
        free(blocks);
        return status;
    }
    stream->queues = queues;
    stream->blocks = blocks;
    stream->last = &stream->first;
    pthread_cond_init(&stream->work, NULL);
    pthread_mutex_lock(&queues->lock);
    stream->random = queues->options.seed + 0x9e3779b97f4a7c15ull * ++queues->created;
    stream->next = queues->streams;
    queues->streams = stream;
    pthread_mutex_unlock(&queues->lock);
    stream->job = (struct gf_job){.run = run_stream, .argument = stream};
    gf_pool_start(queues->pool, &stream->job);
    *created = stream;
    return GF_OK;
}

static void unlink_stream(gf_stream *stream)
{
    gf_stream **place = &stream->queues->streams;
    while (*place != stream) {
        place = &(*place)->next;
    }
    *place = stream->next;
}

void gf_emulated_stream_destroy(gf_stream *stream)
{
    struct gf_emulated_queues *queues = stream->queues;

    pthread_mutex_lock(&queues->lock);
    stream->ending = true;
    pthread_cond_signal(&stream->work);
    while (!stream->ended) {
        pthread_cond_wait(&queues->done, &queues->lock);
    }
    unlink_stream(stream);
    pthread_mutex_unlock(&queues->lock);
    gf_pool_release(queues->pool, 1 + stream->helpers);
    for (int i = 0; i < queues->options.blocks && stream->blocks[i]; i++) {
        gf_block_destroy(stream->blocks[i]);
    }
    free(stream->blocks);
    pthread_cond_destroy(&stream->work);
    free(stream);
}

void gf_emulated_stream_push(gf_stream *stream, struct gf_operation *operation)
{
    struct gf_emulated_queues *queues = stream->queues;

    operation->next = NULL;
    pthread_mutex_lock(&queues->lock);
    while (queues->held_up > 0) {
        pthread_cond_wait(&queues->done, &queues->lock);
    }
    operation->ticket = ++queues->last_ticket;
    *stream->last = operation;
    stream->last = &operation->next;
    if (stream->oldest == 0) {
        stream->oldest = operation->ticket;
    }
    pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&queues->lock);
}

bool gf_emulated_stream_idle(gf_stream *stream)
{
    pthread_mutex_lock(&stream->queues->lock);
    bool idle = stream->oldest == 0;
    pthread_mutex_unlock(&stream->queues->lock);
    return idle;
}

void gf_emulated_stream_wait(gf_stream *stream)
{
    struct gf_emulated_queues *queues = stream->queues;

    pthread_mutex_lock(&queues->lock);
    uint64_t ticket = queues->last_ticket;
    while (!finished(stream, ticket)) {
        pthread_cond_wait(&queues->done, &queues->lock);
    }
    pthread_mutex_unlock(&queues->lock);
}

static bool all_finished(const struct gf_emulated_queues *queues, uint64_t ticket)
{
    for (const gf_stream *stream = queues->streams; stream; stream = stream->next) {
        if (!finished(stream, ticket)) {
            return false;
        }
    }
    return true;
}

/* The lock is held. */
static void wait_for_all(struct gf_emulated_queues *queues)
{
    uint64_t ticket = queues->last_ticket;

    while (!all_finished(queues, ticket)) {
        pthread_cond_wait(&queues->done, &queues->lock);
    }
}

void gf_emulated_queues_wait(struct gf_emulated_queues *queues)
{
    pthread_mutex_lock(&queues->lock);
    wait_for_all(queues);
    pthread_mutex_unlock(&queues->lock);
}

bool gf_emulated_queues_idle(struct gf_emulated_queues *queues)
{
    pthread_mutex_lock(&queues->lock);
    bool idle = all_finished(queues, queues->last_ticket);

    pthread_mutex_unlock(&queues->lock);
    return idle;
}

void gf_emulated_queues_hold_up(struct gf_emulated_queues *queues)
{
    pthread_mutex_lock(&queues->lock);
    queues->held_up++;
    wait_for_all(queues);
    queues->held_up--;
    pthread_cond_broadcast(&queues->done);
    pthread_mutex_unlock(&queues->lock);
}

uint64_t gf_emulated_stream_random(gf_stream *stream)
{
    return gf_random_next(&stream->random);
}
