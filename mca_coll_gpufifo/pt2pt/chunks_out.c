/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending chunks: copies out of the device are started in the order of the wire, and what has been copied is sent in that order.
 */
#include "mca_coll_gpufifo/pt2pt/chunks_lane.h"

/* The next one that has chunks left. */
static struct gf_chunks_out *next_message(const struct gf_lane *lane)
{
    struct gf_chunks_out *message = lane->out;

    while (message && message->issued == message->chunks) {
        message = message->next;
    }
    return message;
}

static void start_copy(struct gf_chunk *chunk)
{
    struct gf_chunks_out *message = chunk->message.out;

    chunk->state = GF_CHUNK_COPIED;
    chunk->status = message->status;
    if (chunk->status == GF_OK) {
        chunk->status = gf_copy_ring_start(&chunk->copier->out, chunk->memory,
                                           message->address + message->issued * message->chunk_bytes,
                                           chunk->bytes, chunk);
        chunk->state = chunk->status == GF_OK ? GF_CHUNK_COPYING : GF_CHUNK_COPIED;
    }
    message->issued++;
}

static void fill(struct gf_lane *lane, unsigned depth)
{
    struct gf_chunks_out *message;

    while (lane->count < depth && (message = next_message(lane)) != NULL && !gf_copy_ring_full(&message->copier->out)) {
        size_t bytes = gf_pipe_chunk_length(message->bytes, message->chunk_bytes, message->issued);
        struct gf_chunk *chunk = gf_chunk_create(lane, message->copier, bytes);

        if (!chunk) {
            return;
        }
        chunk->message.out = message;
        start_copy(chunk);
    }
}

/* What could not be copied goes empty, and tells the receiver so. */
static void send_chunk(const struct gf_lane *lane, struct gf_chunk *chunk)
{
    struct gf_chunks_out *message = chunk->message.out;
    size_t bytes = chunk->status == GF_OK ? chunk->bytes : 0;

    if (message->status == GF_OK) {
        message->status = chunk->status;
    }
    if (gf_pt2pt_saved()->pml_isend(chunk->memory, bytes, MPI_BYTE, lane->peer, GF_CHUNKS_TAG_CHUNK, MCA_PML_BASE_SEND_STANDARD,
                                    &ompi_mpi_comm_world.comm, &chunk->request) != OMPI_SUCCESS) {
        message->status = GF_ERR_PEER;
        chunk->request = MPI_REQUEST_NULL;
    }
    chunk->state = GF_CHUNK_ON_WIRE;
}

static void send_copied(struct gf_lane *lane)
{
    for (struct gf_chunk *chunk = lane->oldest; chunk && chunk->state != GF_CHUNK_COPYING; chunk = chunk->next) {
        if (chunk->state == GF_CHUNK_COPIED) {
            send_chunk(lane, chunk);
        }
    }
}

/* Those that have left. */
static void retire(struct gf_lane *lane)
{
    struct gf_chunk *chunk;

    while ((chunk = lane->oldest) != NULL && chunk->state == GF_CHUNK_ON_WIRE) {
        struct gf_chunks_out *message = chunk->message.out;
        size_t ignored;

        if (!gf_pml_complete(&chunk->request, &ignored, &message->status)) {
            return;
        }
        message->sent++;
        gf_chunk_destroy_oldest(lane);
    }
}

void gf_lane_send(struct gf_lane *lane, unsigned depth)
{
    struct gf_chunks_out *message;

    retire(lane);
    fill(lane, depth);
    send_copied(lane);
    while ((message = lane->out) != NULL && message->sent == message->chunks) {
        lane->out = message->next;
        if (!lane->out) {
            lane->last_out = &lane->out;
        }
        atomic_store_explicit(&message->ended, true, memory_order_release);
    }
}
