/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in chunks: how they come and go. New ones, and those that are withdrawn, wait for the next exchange.
 */
#include <stdlib.h>

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/pt2pt/chunks_lane.h"

struct gf_chunks *gf_chunks_create(void)
{
    struct gf_chunks *chunks = calloc(1, sizeof *chunks);

    if (chunks) {
        pthread_mutex_init(&chunks->lock, NULL);
        chunks->last_new_in = &chunks->new_in;
        atomic_flag_clear(&chunks->busy);
    }
    return chunks;
}

static void copier_destroy(struct gf_copier *copier)
{
    gf_copy_ring_destroy(&copier->out);
    gf_copy_ring_destroy(&copier->in);
    free(copier);
}

void gf_chunks_destroy(struct gf_chunks *chunks)
{
    if (!chunks || chunks->messages > 0) {
        return;
    }
    for (struct gf_copier *copier = chunks->copiers, *next; copier; copier = next) {
        next = copier->next;
        copier_destroy(copier);
    }
    pthread_mutex_destroy(&chunks->lock);
    free(chunks);
}

static gf_status copier_fill(struct gf_copier *copier, int ordinal, struct gf_reason *why)
{
    gf_device *device;
    gf_stream *shared;
    gf_status status = gf_stage_pool_get(mca_coll_gpufifo_component.staging, ordinal, &copier->pool, why);

    if (status != GF_OK) {
        return status;
    }
    device = gf_stage_pool_device(copier->pool);
    shared = gf_stage_pool_stream(copier->pool);
    status = gf_copy_ring_create(device, shared, &copier->out, why);
    return status == GF_OK ? gf_copy_ring_create(device, shared, &copier->in, why) : status;
}

/* With the lock held. */
static gf_status find_copier(struct gf_chunks *chunks, int ordinal, struct gf_copier **found, struct gf_reason *why)
{
    struct gf_copier *copier = chunks->copiers;
    gf_status status;

    while (copier && gf_stage_pool_device(copier->pool)->ordinal != ordinal) {
        copier = copier->next;
    }
    *found = copier;
    if (copier) {
        return GF_OK;
    }
    copier = calloc(1, sizeof *copier);
    if (!copier) {
        gf_reason_set(why, "no host memory for copies of device %d", ordinal);
        return GF_ERR_NO_MEMORY;
    }
    status = copier_fill(copier, ordinal, why);
    if (status != GF_OK) {
        copier_destroy(copier);
        return status;
    }
    copier->next = chunks->copiers;
    chunks->copiers = copier;
    *found = copier;
    return GF_OK;
}

gf_status gf_chunks_offer(struct gf_chunks *chunks, int ordinal, const void *address, size_t bytes, int peer, uint64_t id,
                          struct gf_chunks_out **made, struct gf_chunks_name *name, struct gf_reason *why)
{
    struct gf_chunks_out *message = calloc(1, sizeof *message);
    gf_status status;

    if (!message) {
        gf_reason_set(why, "no host memory for a message");
        return GF_ERR_NO_MEMORY;
    }
    message->peer = peer;
    message->address = address;
    message->chunk_bytes = gf_pipe_chunk_choose(&mca_coll_gpufifo_component.pipe, bytes);
    pthread_mutex_lock(&chunks->lock);
    status = find_copier(chunks, ordinal, &message->copier, why);
    if (status == GF_OK) {
        message->id = id ? id : ++chunks->id;
        message->next = chunks->new_out;
        chunks->new_out = message;
        chunks->messages++;
    }
    pthread_mutex_unlock(&chunks->lock);
    if (status != GF_OK) {
        free(message);
        return status;
    }
    *name = (struct gf_chunks_name){.rank = ompi_comm_rank(&ompi_mpi_comm_world.comm), .id = message->id,
                                    .chunk_bytes = message->chunk_bytes};
    *made = message;
    return GF_OK;
}

static gf_status explain(gf_status status, struct gf_reason *why)
{
    if (status == GF_ERR_PEER) {
        gf_reason_set(why, "the other rank gave a message up, or could not be reached");
    } else if (status != GF_OK) {
        gf_reason_set(why, "a message could not be copied through host memory: %s", gf_status_string(status));
    }
    return status;
}

gf_status gf_chunks_offer_poll(struct gf_chunks *chunks, struct gf_chunks_out *message, struct gf_reason *why)
{
    gf_status status;

    if (!atomic_load_explicit(&message->ended, memory_order_acquire)) {
        return GF_IN_PROGRESS;
    }
    status = explain(message->status, why);
    chunks->messages--;
    free(message);
    return status;
}

void gf_chunks_offer_withdraw(struct gf_chunks *chunks, struct gf_chunks_out *message)
{
    pthread_mutex_lock(&chunks->lock);
    message->withdrawn = true;
    chunks->withdrawn++;
    pthread_mutex_unlock(&chunks->lock);
}

static void bring(struct gf_chunks *chunks, const struct gf_chunks_name *name, struct gf_chunks_in *message)
{
    message->peer = name->rank;
    message->chunk_bytes = name->chunk_bytes;
    message->cts.id = name->id;
    message->request = MPI_REQUEST_NULL;
    *chunks->last_new_in = message;
    chunks->last_new_in = &message->next;
    chunks->messages++;
}

gf_status gf_chunks_take(struct gf_chunks *chunks, const struct gf_chunks_name *name, int ordinal, void *to, size_t bytes,
                         struct gf_chunks_in *message, struct gf_reason *why)
{
    struct gf_pointer info;
    gf_status status = gf_memory_query(to, &info, why);

    *message = (struct gf_chunks_in){.to = to, .cts.wanted = bytes};
    pthread_mutex_lock(&chunks->lock);
    if (bytes > 0 && status == GF_OK && info.kind != GF_MEMORY_HOST && info.kind != GF_MEMORY_PINNED) {
        status = find_copier(chunks, ordinal, &message->copier, why);
    }
    if (name->chunk_bytes == 0) {
        gf_reason_set(why, "rank %d sends chunks of no bytes", (int)name->rank);
        status = GF_ERR_PEER;
    } else if (bytes == 0 || status == GF_OK) {
        message->chunks = gf_pipe_chunks(bytes, name->chunk_bytes);
        bring(chunks, name, message);
        status = GF_OK;
    }
    pthread_mutex_unlock(&chunks->lock);
    return status;
}

void gf_chunks_refuse(struct gf_chunks *chunks, const struct gf_chunks_name *name)
{
    struct gf_chunks_in *message = calloc(1, sizeof *message);

    if (message) {
        message->cts.failure = GF_ERR_PEER;
        pthread_mutex_lock(&chunks->lock);
        bring(chunks, name, message);
        pthread_mutex_unlock(&chunks->lock);
    }
}

gf_status gf_chunks_take_poll(struct gf_chunks *chunks, struct gf_chunks_in *message, struct gf_reason *why)
{
    if (!atomic_load_explicit(&message->ended, memory_order_acquire)) {
        return GF_IN_PROGRESS;
    }
    chunks->messages--;
    return explain(message->status, why);
}

/* Without pinned memory it is slow, without any it has to wait. */
static bool find_memory(struct gf_chunk *chunk, size_t bytes)
{
    void *memory = NULL;
    struct gf_reason ignored;

    if (gf_bounce_alloc(chunk->copier->pool, bytes, &memory, &ignored) != GF_OK) {
        memory = malloc(bytes);
        chunk->pageable = true;
    }
    chunk->memory = memory;
    return memory != NULL;
}

struct gf_chunk *gf_chunk_create(struct gf_lane *lane, struct gf_copier *copier, size_t bytes)
{
    struct gf_chunk *chunk = calloc(1, sizeof *chunk);

    if (!chunk) {
        return NULL;
    }
    chunk->copier = copier;
    chunk->bytes = bytes;
    chunk->request = MPI_REQUEST_NULL;
    if (copier && !find_memory(chunk, bytes)) {
        free(chunk);
        return NULL;
    }
    *lane->newest = chunk;
    lane->newest = &chunk->next;
    lane->count++;
    return chunk;
}

void gf_chunk_destroy_oldest(struct gf_lane *lane)
{
    struct gf_chunk *chunk = lane->oldest;

    lane->oldest = chunk->next;
    if (!lane->oldest) {
        lane->newest = &lane->oldest;
    }
    lane->count--;
    if (chunk->pageable) {
        free(chunk->memory);
    } else if (chunk->copier) {
        gf_bounce_free(chunk->copier->pool, chunk->memory, chunk->bytes);
    }
    free(chunk);
}
