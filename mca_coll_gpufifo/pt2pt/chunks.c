/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in chunks: how they come and go. New ones, and those that are withdrawn, wait for the next exchange.
 */
#include <stdlib.h>

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/pt2pt/chunks_lane.h"

struct gf_chunks {
    pthread_mutex_t lock;              /* guards the new ones, ids, and the making of copiers */
    struct gf_chunks_out *new_out;
    struct gf_chunks_in *new_in, **last_new_in;    /* in the order in which they were taken */
    uint64_t id;                       /* of the last message, below GF_CHUNKS_OWN_IDS */
    _Atomic(struct gf_copier *) copiers;           /* those made never leave the list before the end */
    _Atomic int messages;              /* there are; refused ones, too */
    _Atomic int withdrawn;             /* to be found among those announced */
    atomic_flag busy;                  /* a thread is in the exchange; what follows is its */
    struct gf_lane *out, *in;
    struct gf_chunks_in *refused;      /* their CTSs are on their way; they are ours */
};

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
    gf_status status = gf_stage_pool_get(mca_coll_gpufifo_component.staging, ordinal, &copier->pool, why);

    if (status != GF_OK) {
        return status;
    }
    device = gf_stage_pool_device(copier->pool);
    status = gf_copy_ring_create(device, &copier->out, why);
    return status == GF_OK ? gf_copy_ring_create(device, &copier->in, why) : status;
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

/* False: no message of that id is announced. */
static bool hear(struct gf_lane *lane, const struct gf_chunks_cts *cts)
{
    struct gf_chunks_out *message = find_announced(lane, cts->id);

    if (!message) {
        return false;
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

/* The receiver may have asked for it already. */
static void hear_early(struct gf_lane *lane, uint64_t id)
{
    for (struct gf_ear **link = &lane->early; *link; link = &(*link)->next) {
        struct gf_ear *ear = *link;

        if (ear->cts.id == id) {
            *link = ear->next;
            hear(lane, &ear->cts);
            free(ear);
            return;
        }
    }
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
    hear_early(lane, message->id);
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

        if (gf_chunks_complete(&message->request, &ignored, &message->status)) {
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

static void hear_all(struct gf_lane *lane)
{
    gf_status status = GF_OK;
    struct gf_ear *ear;
    size_t bytes;

    while ((ear = lane->ears) != NULL && gf_chunks_complete(&ear->request, &bytes, &status)) {
        lane->ears = ear->next;
        if (!lane->ears) {
            lane->last_ear = &lane->ears;
        }
        if (status == GF_OK && bytes == sizeof ear->cts && !hear(lane, &ear->cts) && ear->cts.id >= GF_CHUNKS_OWN_IDS) {
            ear->next = lane->early;
            lane->early = ear;
        } else {
            free(ear);
        }
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

        if (lane->announced || lane->ears || lane->early || lane->out || lane->in || lane->oldest) {
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
