/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of a pipe: taking offers, and emptying slots.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/copy_ring.h"
#include "core/host_ordered.h"
#include "core/pipe_memory.h"

/* The memory of one source, mapped and registered here. Kept until the sink ends: its process may offer again at any time. */
struct gf_pipe_peer {
    struct gf_pipe_peer *next;
    struct gf_segment_name name;
    struct gf_segment segment;
    struct gf_pipe_memory *memory;
    bool registered;                   /* else copies from it keep the caller, which is slow but right */
};

struct gf_pipe_sink {
    gf_device *device;
    pthread_mutex_t lock;              /* guards what follows */
    struct gf_pipe_peer *peers;
    struct gf_copy_ring ring;          /* made with the first message to device memory */
    struct gf_pipe_take *first, **last;    /* under way */
    struct gf_pipe_watch watch;
};

gf_status gf_pipe_sink_create(gf_device *device, gf_pipe_sink **made, struct gf_reason *why)
{
    gf_pipe_sink *sink = calloc(1, sizeof *sink);

    *made = NULL;
    if (!sink) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    sink->device = device;
    sink->last = &sink->first;
    pthread_mutex_init(&sink->lock, NULL);
    *made = sink;
    return GF_OK;
}

static void peer_close(gf_pipe_sink *sink, struct gf_pipe_peer *peer)
{
    if (peer->registered) {
        gf_device_host_unregister(sink->device, peer->segment.address);
    }
    gf_segment_close(&peer->segment);
    free(peer);
}

void gf_pipe_sink_destroy(gf_pipe_sink *sink)
{
    if (!sink) {
        return;
    }
    gf_copy_ring_destroy(&sink->ring);
    while (sink->peers) {
        struct gf_pipe_peer *peer = sink->peers;

        sink->peers = peer->next;
        peer_close(sink, peer);
    }
    pthread_mutex_destroy(&sink->lock);
    free(sink);
}

static bool same_name(const struct gf_segment_name *a, const struct gf_segment_name *b)
{
    return a->pid == b->pid && a->fd == b->fd && a->inode == b->inode && a->device == b->device && a->bytes == b->bytes;
}

static bool is_well_formed(const struct gf_pipe_peer *peer)
{
    const struct gf_pipe_memory *memory = peer->memory;

    return peer->segment.bytes >= GF_PIPE_HEADER_BYTES && memory->magic == GF_PIPE_MAGIC && memory->slot_bytes > 0 &&
           memory->slots <= (peer->segment.bytes - GF_PIPE_HEADER_BYTES) / memory->slot_bytes;
}

static gf_status attach(gf_pipe_sink *sink, const struct gf_segment_name *name, struct gf_pipe_peer **made, struct gf_reason *why)
{
    struct gf_pipe_peer *peer = calloc(1, sizeof *peer);
    struct gf_reason ignored;

    if (!peer) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    peer->name = *name;
    gf_status status = gf_segment_attach(name, &peer->segment, why);

    if (status != GF_OK) {
        free(peer);
        return status == GF_ERR_UNSUPPORTED ? GF_ERR_PEER : status;
    }
    peer->memory = peer->segment.address;
    if (!is_well_formed(peer)) {
        gf_reason_set(why, "process %" PRId32 " has a pipe of an unknown form: use one version of gpufifo in all ranks",
                      name->pid);
        peer_close(sink, peer);
        return GF_ERR_PEER;
    }
    peer->registered = gf_device_host_register(sink->device, peer->segment.address, peer->segment.bytes, &ignored) == GF_OK;
    peer->next = sink->peers;
    sink->peers = peer;
    *made = peer;
    return GF_OK;
}

static gf_status find_peer(gf_pipe_sink *sink, const struct gf_segment_name *name, struct gf_pipe_peer **found,
                           struct gf_reason *why)
{
    for (struct gf_pipe_peer *peer = sink->peers; peer; peer = peer->next) {
        if (same_name(&peer->name, name)) {
            *found = peer;
            return GF_OK;
        }
    }
    return attach(sink, name, found, why);
}

/* The entry, still the sender's: what it says of the message does not change while it is offered. */
static gf_status find_entry(gf_pipe_sink *sink, const struct gf_offer_name *name, struct gf_pipe_take *take,
                            struct gf_reason *why)
{
    gf_status status = find_peer(sink, &name->board, &take->peer, why);

    if (status != GF_OK) {
        return status;
    }
    take->entry = name->index < GF_PIPE_ENTRIES ? &take->peer->memory->entries[name->index] : NULL;
    if (!take->entry || gf_host_observe(&take->entry->state) != gf_pipe_word(name->generation, GF_PIPE_OFFERED)) {
        gf_reason_set(why, "process %" PRId32 " does not offer message %" PRIu32 " any more", name->board.pid, name->index);
        return GF_ERR_PEER;
    }
    return GF_OK;
}

static gf_status withdrawn(const struct gf_offer_name *name, struct gf_reason *why)
{
    gf_reason_set(why, "process %" PRId32 " has withdrawn message %" PRIu32, name->board.pid, name->index);
    return GF_ERR_PEER;
}

/* OFFERED → WANTED, or FAILED where failure is one, in one step: the sender serves what is wanted, a short message whole, and
 * then knows of no failure that comes later. */
static gf_status claim(const struct gf_offer_name *name, struct gf_pipe_take *take, gf_status failure, struct gf_reason *why)
{
    uint64_t offered = gf_pipe_word(name->generation, GF_PIPE_OFFERED);

    take->word = gf_pipe_word(name->generation, failure == GF_OK ? GF_PIPE_WANTED : GF_PIPE_FAILED);
    if (gf_host_observe(&take->entry->state) != offered) {
        return withdrawn(name, why);
    }
    take->entry->wanted = failure == GF_OK ? take->bytes : 0;
    take->entry->failure = failure;
    __atomic_store_n(&take->entry->taker, (int32_t)getpid(), __ATOMIC_RELAXED);
    return gf_host_move(&take->entry->state, offered, take->word) ? GF_OK : withdrawn(name, why);
}

/* The last that this side does to the entry. */
static void close_entry(const struct gf_pipe_take *take, gf_status status)
{
    take->entry->failure = status;
    gf_host_publish(&take->entry->state, (take->word & ~(uint64_t)0xff) | (status == GF_OK ? GF_PIPE_DONE : GF_PIPE_FAILED));
}

static gf_status prepare(gf_pipe_sink *sink, struct gf_pipe_take *take, struct gf_reason *why)
{
    struct gf_pointer info;
    gf_status status = gf_driver_pointer(sink->device->driver, take->to, &info);

    if (take->bytes > take->entry->bytes) {
        gf_reason_set(why, "%zu bytes of a message of %" PRIu64 " bytes were asked for", take->bytes, take->entry->bytes);
        return GF_ERR_INVALID;
    }
    if (take->bytes > 0 && (status != GF_OK || info.kind == GF_MEMORY_INVALID)) {
        gf_reason_set(why, "%p is no memory that a message can be received into: it has been freed, or the device has failed",
                      (void *)take->to);
        return status != GF_OK ? status : GF_ERR_INVALID;
    }
    take->to_host = info.kind == GF_MEMORY_HOST || info.kind == GF_MEMORY_PINNED;
    take->chunk_bytes = take->entry->chunk_bytes;
    if (take->chunk_bytes == 0 || take->chunk_bytes > take->peer->memory->slot_bytes) {
        gf_reason_set(why, "process %" PRId32 " sends chunks that are longer than its slots", take->peer->name.pid);
        return GF_ERR_PEER;
    }
    take->chunks = gf_pipe_chunks(take->bytes, take->chunk_bytes);
    if (take->to_host || sink->ring.device) {
        return GF_OK;
    }
    status = gf_copy_ring_create(sink->device, NULL, &sink->ring, why);
    if (status != GF_OK) {
        sink->ring.device = NULL;
    }
    return status == GF_ERR_NO_MEMORY ? GF_ERR_UNSUPPORTED : status;
}

gf_status gf_pipe_take_start(gf_pipe_sink *sink, const struct gf_offer_name *name, void *to, size_t bytes,
                             struct gf_pipe_take *take,
                             struct gf_reason *why)
{
    struct gf_reason unfit;

    *take = (struct gf_pipe_take){ .to = to, .bytes = bytes };
    pthread_mutex_lock(&sink->lock);
    gf_status status = find_entry(sink, name, take, why);

    if (status == GF_OK) {
        gf_status fit = prepare(sink, take, &unfit);

        status = claim(name, take, fit, why);
        if (status == GF_OK && fit != GF_OK) {
            *why = unfit;
            status = fit;
        } else if (status == GF_OK) {
            *sink->last = take;
            sink->last = &take->next;
        }
    }
    pthread_mutex_unlock(&sink->lock);
    return status;
}

gf_status gf_pipe_take_poll(gf_pipe_sink *sink, struct gf_pipe_take *take, struct gf_reason *why)
{
    (void)sink;
    if (!atomic_load_explicit(&take->ended, memory_order_acquire)) {
        return GF_IN_PROGRESS;
    }
    if (take->status == GF_ERR_PEER) {
        gf_reason_set(why, "the sender of a message of %zu bytes has ended, or could not copy it to host memory", take->bytes);
    } else if (take->status != GF_OK) {
        gf_reason_set(why, "the device failed while a message of %zu bytes was copied from host memory: %s", take->bytes,
                      gf_status_string(take->status));
    }
    return take->status;
}

gf_status gf_pipe_refuse(gf_pipe_sink *sink, const struct gf_offer_name *name, struct gf_reason *why)
{
    struct gf_pipe_take take = { 0 };

    pthread_mutex_lock(&sink->lock);
    gf_status status = find_entry(sink, name, &take, why);

    if (status == GF_OK) {
        status = claim(name, &take, GF_ERR_PEER, why);
    }
    pthread_mutex_unlock(&sink->lock);
    return status;
}

static void empty(struct gf_pipe_take *take)
{
    take->emptied++;
    if (take->status == GF_OK) {
        gf_host_publish(&take->entry->head, take->emptied);
    }
}

/* Copies that have ended. */
static bool settle(gf_pipe_sink *sink)
{
    gf_status status;
    bool moved = false;
    void *owner;

    while (gf_copy_ring_next(&sink->ring, &owner, &status)) {
        struct gf_pipe_take *take = owner;

        if (take->status == GF_OK) {
            take->status = status;
        }
        empty(take);
        moved = true;
    }
    return moved;
}

/* Takes the next chunk out of its slot, which has been filled. */
static void start_chunk(gf_pipe_sink *sink, struct gf_pipe_take *take)
{
    uint16_t slot = take->entry->slots[take->issued % GF_PIPE_DEPTH];
    const char *from = gf_pipe_slot(take->peer->memory, slot);
    char *to = take->to + take->issued * take->chunk_bytes;
    size_t length = gf_pipe_chunk_length(take->bytes, take->chunk_bytes, take->issued);

    if (slot >= take->peer->memory->slots) {
        take->status = GF_ERR_PEER;
    } else if (take->to_host) {
        memcpy(to, from, length);
        take->issued++;
        empty(take);
    } else {
        take->status = gf_copy_ring_start(&sink->ring, to, from, length, take);
        take->issued += take->status == GF_OK;
    }
}

/* One chunk at most of each message at a time, so they take turns. */
static bool go_on(gf_pipe_sink *sink, struct gf_pipe_take *take)
{
    if (take->issued == take->chunks || take->status != GF_OK) {
        return false;
    }
    uint64_t tail = gf_host_observe(&take->entry->tail);

    if (tail == GF_PIPE_BROKEN) {
        take->status = GF_ERR_PEER;
        return true;
    }
    if (tail <= take->issued || (!take->to_host && gf_copy_ring_full(&sink->ring))) {
        return false;
    }
    start_chunk(sink, take);
    return true;
}

/* *link is unlinked and told its end if it has come to it. */
static bool end(gf_pipe_sink *sink, struct gf_pipe_take **link)
{
    struct gf_pipe_take *take = *link;

    if (take->issued != take->emptied || (take->status == GF_OK && take->emptied < take->chunks)) {
        return false;
    }
    *link = take->next;
    if (!*link) {
        sink->last = link;
    }
    close_entry(take, take->status);
    atomic_store_explicit(&take->ended, true, memory_order_release);
    return true;
}

static void look_at_senders(gf_pipe_sink *sink)
{
    for (struct gf_pipe_take *take = sink->first; take; take = take->next) {
        if (take->status == GF_OK && !gf_pipe_process_lives(take->peer->name.pid)) {
            take->status = GF_ERR_PEER;
        }
    }
}

/* The first message becomes the last, so that the next turn begins with another one. */
static void rotate(gf_pipe_sink *sink)
{
    struct gf_pipe_take *first = sink->first;

    if (first && first->next) {
        sink->first = first->next;
        first->next = NULL;
        *sink->last = first;
        sink->last = &first->next;
    }
}

enum gf_pipe_turn gf_pipe_sink_progress(gf_pipe_sink *sink)
{
    enum gf_pipe_turn turn = GF_PIPE_IDLE;

    if (pthread_mutex_trylock(&sink->lock) != 0) {
        return GF_PIPE_WAITING;
    }
    if (sink->first) {
        bool moved = settle(sink);

        for (struct gf_pipe_take **link = &sink->first; *link;) {
            moved |= go_on(sink, *link);
            if (!end(sink, link)) {
                link = &(*link)->next;
            }
        }
        rotate(sink);
        if (gf_pipe_watch_due(&sink->watch)) {
            look_at_senders(sink);
        }
        turn = moved ? GF_PIPE_MOVED : GF_PIPE_WAITING;
    }
    pthread_mutex_unlock(&sink->lock);
    return turn;
}
