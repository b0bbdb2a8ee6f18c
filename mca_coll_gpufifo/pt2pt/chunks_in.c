/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiving chunks: receives are posted in the order of the wire, and what has come is copied to the device.
 */
#include "mca_coll_gpufifo/pt2pt/chunks_lane.h"

/* The next one that has chunks left. */
static struct gf_chunks_in *next_message(const struct gf_lane *lane)
{
    struct gf_chunks_in *message = lane->in;

    while (message && message->posted == message->chunks) {
        message = message->next;
    }
    return message;
}

/* Chunks for host memory are received where they belong. */
static void post_chunk(const struct gf_lane *lane, struct gf_chunk *chunk)
{
    struct gf_chunks_in *message = chunk->message.in;

    chunk->state = GF_CHUNK_ON_WIRE;
    chunk->to = message->to + message->posted * message->chunk_bytes;
    if (gf_pt2pt_saved()->pml_irecv(chunk->copier ? chunk->memory : chunk->to, chunk->bytes, MPI_BYTE, lane->peer,
        GF_CHUNKS_TAG_CHUNK,
                                    &ompi_mpi_comm_world.comm, &chunk->request) != OMPI_SUCCESS) {
        message->status = GF_ERR_PEER;
        chunk->request = MPI_REQUEST_NULL;
    }
    message->posted++;
}

static void post(struct gf_lane *lane, unsigned depth)
{
    struct gf_chunks_in *message;

    while (lane->count < depth && (message = next_message(lane)) != NULL) {
        size_t bytes = gf_pipe_chunk_length(message->cts.wanted, message->chunk_bytes, message->posted);
        struct gf_chunk *chunk = gf_chunk_create(lane, message->copier, bytes);

        if (!chunk) {
            return;
        }
        chunk->message.in = message;
        post_chunk(lane, chunk);
    }
}

/* True: the chunk has come, and its copy is under way or needless. */
static bool store(struct gf_chunk *chunk)
{
    struct gf_chunks_in *message = chunk->message.in;
    size_t bytes;

    if (chunk->copier && gf_copy_ring_full(&chunk->copier->in)) {
        return false;
    }
    if (!gf_pml_complete(&chunk->request, &bytes, &message->status)) {
        return false;
    }
    if (bytes != chunk->bytes && message->status == GF_OK) {
        message->status = GF_ERR_PEER;
    }
    chunk->state = GF_CHUNK_COPIED;
    if (chunk->copier && message->status == GF_OK) {
        message->status = gf_copy_ring_start(&chunk->copier->in, chunk->to, chunk->memory, chunk->bytes, chunk);
        chunk->state = message->status == GF_OK ? GF_CHUNK_COPYING : GF_CHUNK_COPIED;
    }
    return true;
}

static void store_all(struct gf_lane *lane)
{
    for (struct gf_chunk *chunk = lane->oldest; chunk; chunk = chunk->next) {
        if (chunk->state == GF_CHUNK_ON_WIRE && !store(chunk)) {
            return;
        }
    }
}

static void retire(struct gf_lane *lane)
{
    struct gf_chunk *chunk;

    while ((chunk = lane->oldest) != NULL && chunk->state == GF_CHUNK_COPIED) {
        struct gf_chunks_in *message = chunk->message.in;

        if (message->status == GF_OK) {
            message->status = chunk->status;
        }
        message->stored++;
        gf_chunk_destroy_oldest(lane);
    }
}

void gf_lane_receive(struct gf_lane *lane, unsigned depth)
{
    struct gf_chunks_in *message;
    size_t ignored;

    store_all(lane);
    retire(lane);
    post(lane, depth);
    while ((message = lane->in) != NULL && message->stored == message->chunks &&
           gf_pml_complete(&message->request, &ignored, &message->status)) {
        lane->in = message->next;
        if (!lane->in) {
            lane->last_in = &lane->in;
        }
        atomic_store_explicit(&message->ended, true, memory_order_release);
    }
}
