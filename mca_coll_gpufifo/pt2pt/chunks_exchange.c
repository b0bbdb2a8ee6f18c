/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in chunks: the exchange of CTSs, in the order that the chunks follow.
 */
#include <stdlib.h>

#include "mca_coll_gpufifo/pt2pt/chunks_lane.h"

/* Null: no host memory; try again later. */
static struct gf_lane *lane_of(struct gf_lane **lanes, int peer)
{
    struct gf_lane *lane = *lanes;

    while (lane && lane->peer != peer) {
        lane = lane->next;
    }
    if (lane || !(lane = calloc(1, sizeof *lane))) {
        return lane;
    }
    lane->peer = peer;
    lane->newest = &lane->oldest;
    lane->last_ear = &lane->ears;
    lane->last_out = &lane->out;
    lane->last_in = &lane->in;
    lane->next = *lanes;
    *lanes = lane;
    return lane;
}

/* Ends it without its CTS. */
static void give_up(struct gf_chunks_out *message, gf_status status)
{
    message->status = status;
    atomic_store_explicit(&message->ended, true, memory_order_release);
}

/* Takes the message of that id out of those announced. */
static struct gf_chunks_out *find_announced(struct gf_lane *lane, uint64_t id)
{
    for (struct gf_chunks_out **link = &lane->announced; *link; link = &(*link)->next) {
        struct gf_chunks_out *message = *link;

        if (message->id == id) {
            *link = message->next;
            return message;
        }
    }
    return NULL;
}

/* False: its message is one that the receiver may ask for before it is announced. */
static bool hear(struct gf_lane *lane, const struct gf_chunks_cts *cts)
{
    struct gf_chunks_out *message = find_announced(lane, cts->id);

    if (!message) {
        return cts->id < GF_CHUNKS_OWN_IDS;
    }
    if (cts->failure != GF_OK) {
        give_up(message, GF_ERR_PEER);
        return true;
    }
    message->bytes = cts->wanted;
    message->chunks = gf_pipe_chunks(message->bytes, message->chunk_bytes);
    message->next = NULL;
    *lane->last_out = message;
    lane->last_out = &message->next;
    return true;
}

static void announce(struct gf_chunks *chunks, struct gf_chunks_out *message)
{
    struct gf_lane *lane = lane_of(&chunks->out, message->peer);
    struct gf_ear *ear = calloc(1, sizeof *ear);

    if (!lane || !ear) {
        free(ear);
        give_up(message, GF_ERR_NO_MEMORY);
        return;
    }
    if (gf_pt2pt_saved()->pml_irecv(&ear->cts, sizeof ear->cts, MPI_BYTE, message->peer, GF_CHUNKS_TAG_CTS,
        &ompi_mpi_comm_world.comm,
                                    &ear->request) != OMPI_SUCCESS) {
        free(ear);
        give_up(message, GF_ERR_PEER);
        return;
    }
    *lane->last_ear = ear;
    lane->last_ear = &ear->next;
    message->next = lane->announced;
    lane->announced = message;
}

static bool send_cts(struct gf_chunks_in *message)
{
    return gf_pt2pt_saved()->pml_isend(&message->cts, sizeof message->cts, MPI_BYTE, message->peer, GF_CHUNKS_TAG_CTS,
                                       MCA_PML_BASE_SEND_STANDARD, &ompi_mpi_comm_world.comm, &message->request) == OMPI_SUCCESS;
}

/* Its place in the order of the chunks is that of its CTS. */
static void adopt(struct gf_chunks *chunks, struct gf_chunks_in *message)
{
    struct gf_lane *lane = lane_of(&chunks->in, message->peer);

    if (!lane || !send_cts(message)) {
        message->status = lane ? GF_ERR_PEER : GF_ERR_NO_MEMORY;
        atomic_store_explicit(&message->ended, true, memory_order_release);
        return;
    }
    message->next = NULL;
    *lane->last_in = message;
    lane->last_in = &message->next;
}

static void refuse(struct gf_chunks *chunks, struct gf_chunks_in *message)
{
    if (send_cts(message)) {
        message->next = chunks->refused;
        chunks->refused = message;
    } else {
        chunks->messages--;
        free(message);
    }
}

/* Those of whose refusal the sender knows. */
static void forget_refused(struct gf_chunks *chunks)
{
    for (struct gf_chunks_in **link = &chunks->refused; *link;) {
        struct gf_chunks_in *message = *link;
        size_t ignored;

        if (gf_pml_complete(&message->request, &ignored, &message->status)) {
            *link = message->next;
            chunks->messages--;
            free(message);
        } else {
            link = &message->next;
        }
    }
}

static void take_new(struct gf_chunks *chunks)
{
    struct gf_chunks_out *out;
    struct gf_chunks_in *in;

    pthread_mutex_lock(&chunks->lock);
    out = chunks->new_out;
    in = chunks->new_in;
    chunks->new_out = NULL;
    chunks->new_in = NULL;
    chunks->last_new_in = &chunks->new_in;
    pthread_mutex_unlock(&chunks->lock);
    while (out) {
        struct gf_chunks_out *next = out->next;

        announce(chunks, out);
        out = next;
    }
    while (in) {
        struct gf_chunks_in *next = in->next;

        (in->cts.failure == GF_OK ? adopt : refuse)(chunks, in);
        in = next;
    }
}

/* True: a CTS has come, or none will. */
static bool has_come(struct gf_ear *ear)
{
    size_t bytes;

    if (!ear->came && gf_pml_complete(&ear->request, &bytes, &ear->status)) {
        ear->came = true;
        if (bytes != sizeof ear->cts) {
            ear->status = GF_ERR_PEER;
        }
    }
    return ear->came;
}

/* The receiver takes chunks in the order of its CTSs: one that is too early keeps the later ones waiting. */
static void hear_all(struct gf_lane *lane)
{
    struct gf_ear *ear;

    while ((ear = lane->ears) != NULL && has_come(ear) && (ear->status != GF_OK || hear(lane, &ear->cts))) {
        lane->ears = ear->next;
        if (!lane->ears) {
            lane->last_ear = &lane->ears;
        }
        free(ear);
    }
}

/* Their ears stay. */
static void drop_withdrawn(struct gf_chunks *chunks, struct gf_lane *lane)
{
    for (struct gf_chunks_out **link = &lane->announced; *link;) {
        struct gf_chunks_out *message = *link;

        if (message->withdrawn) {
            *link = message->next;
            chunks->withdrawn--;
            chunks->messages--;
            free(message);
        } else {
            link = &message->next;
        }
    }
}

static void settle(struct gf_copy_ring *ring)
{
    gf_status status;
    void *owner;

    while (gf_copy_ring_next(ring, &owner, &status)) {
        struct gf_chunk *chunk = owner;

        chunk->status = status;
        chunk->state = GF_CHUNK_COPIED;
    }
}

static void destroy_idle(struct gf_lane **lanes)
{
    for (struct gf_lane **link = lanes; *link;) {
        struct gf_lane *lane = *link;

        if (lane->announced || lane->ears || lane->out || lane->in || lane->oldest) {
            link = &lane->next;
        } else {
            *link = lane->next;
            free(lane);
        }
    }
}

void gf_chunks_exchange(struct gf_chunks *chunks)
{
    unsigned depth = mca_coll_gpufifo_component.pipe.depth;

    if (chunks->messages == 0 || atomic_flag_test_and_set(&chunks->busy)) {
        return;
    }
    take_new(chunks);
    for (struct gf_copier *copier = chunks->copiers; copier; copier = copier->next) {
        settle(&copier->out);
        settle(&copier->in);
    }
    for (struct gf_lane *lane = chunks->out; lane; lane = lane->next) {
        hear_all(lane);
        if (chunks->withdrawn > 0) {
            drop_withdrawn(chunks, lane);
        }
        gf_lane_send(lane, depth);
    }
    for (struct gf_lane *lane = chunks->in; lane; lane = lane->next) {
        gf_lane_receive(lane, depth);
    }
    forget_refused(chunks);
    destroy_idle(&chunks->out);
    destroy_idle(&chunks->in);
    atomic_flag_clear(&chunks->busy);
}
