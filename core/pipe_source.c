/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side of a pipe: offers, and filling slots for those that are wanted.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/copy_ring.h"
#include "core/host_ordered.h"
#include "core/pipe_memory.h"

/* What this process knows of one of its offers. Guarded by the source's lock but for what says otherwise. */
struct outgoing {
    uint32_t generation;
    bool held;                         /* by the caller, until poll has told it the end */
    bool wanted;                       /* the receiver has come: what follows is valid */
    bool closed;                       /* the receiver has ended it, or its process has */
    const char *address;
    size_t bytes, chunk_bytes;         /* bytes: those wanted */
    uint64_t chunks;
    uint64_t issued, filled, returned; /* chunks whose copy was started, has ended, whose slot is free again */
    gf_status status;                  /* of the copies, or what the receiver says */
    _Atomic bool ended;                /* for the caller: its buffer is not read any more. Any thread */
};

struct gf_pipe_source {
    gf_device *device;
    struct gf_pipe_config config;
    struct gf_segment segment;
    struct gf_segment_name name;
    struct gf_pipe_memory *memory;
    pthread_mutex_t lock;              /* guards what follows */
    struct gf_copy_ring ring;
    struct outgoing offers[GF_PIPE_ENTRIES];
    int free[GF_PIPE_ENTRIES], free_count;
    int active[GF_PIPE_ENTRIES], active_count;     /* offers that are not free */
    int turn;                          /* in active: who is next to get a slot */
    uint16_t *free_slots;              /* [config.slots] */
    uint32_t free_slot_count;
    struct gf_pipe_watch watch;
};

static struct gf_pipe_entry *shared(const gf_pipe_source *source, int index)
{
    return &source->memory->entries[index];
}

static void init_lists(gf_pipe_source *source)
{
    for (int i = 0; i < GF_PIPE_ENTRIES; i++) {
        source->free[i] = GF_PIPE_ENTRIES - 1 - i;
    }
    source->free_count = GF_PIPE_ENTRIES;
    for (uint32_t i = 0; i < source->config.slots; i++) {
        source->free_slots[i] = (uint16_t)(source->config.slots - 1 - i);
    }
    source->free_slot_count = source->config.slots;
}

static gf_status open_memory(gf_pipe_source *source, struct gf_reason *why)
{
    size_t bytes = GF_PIPE_HEADER_BYTES + source->config.slots * source->config.chunk_bytes;
    gf_status status = gf_segment_create(bytes, &source->segment, &source->name, why);

    if (status != GF_OK) {
        return status;
    }
    status = gf_device_host_register(source->device, source->segment.address, source->segment.bytes, why);
    if (status != GF_OK) {
        gf_segment_close(&source->segment);
        return status;
    }
    source->memory = source->segment.address;
    source->memory->slot_bytes = source->config.chunk_bytes;
    source->memory->slots = source->config.slots;
    source->memory->magic = GF_PIPE_MAGIC;
    return GF_OK;
}

gf_status gf_pipe_source_create(gf_device *device, const struct gf_pipe_config *config, gf_pipe_source **made,
                                struct gf_reason *why)
{
    gf_status status = gf_pipe_config_check(config, why);

    *made = NULL;
    if (status != GF_OK) {
        return status;
    }
    gf_pipe_source *source = calloc(1, sizeof *source);
    uint16_t *slots = calloc(config->slots, sizeof *slots);

    if (!source || !slots) {
        free(source);
        free(slots);
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    source->device = device;
    source->config = *config;
    source->free_slots = slots;
    pthread_mutex_init(&source->lock, NULL);
    init_lists(source);
    status = open_memory(source, why);
    if (status == GF_OK) {
        status = gf_copy_ring_create(device, NULL, &source->ring, why);
    }
    if (status != GF_OK) {
        gf_pipe_source_destroy(source);
        return status;
    }
    *made = source;
    return GF_OK;
}

void gf_pipe_source_destroy(gf_pipe_source *source)
{
    if (!source) {
        return;
    }
    gf_copy_ring_destroy(&source->ring);
    if (source->memory) {
        gf_device_host_unregister(source->device, source->segment.address);
        gf_segment_close(&source->segment);
    }
    pthread_mutex_destroy(&source->lock);
    free(source->free_slots);
    free(source);
}

static void make_offer(gf_pipe_source *source, int index, const void *address, size_t bytes)
{
    struct outgoing *offer = &source->offers[index];
    struct gf_pipe_entry *entry = shared(source, index);
    uint32_t generation = offer->generation + 1;

    *offer = (struct outgoing){
        .generation = generation, .held = true, .address = address,
        .chunk_bytes = gf_pipe_chunk_choose(&source->config, bytes),
    };
    entry->bytes = bytes;
    entry->chunk_bytes = offer->chunk_bytes;
    entry->failure = GF_OK;
    entry->tail = entry->head = 0;
    __atomic_store_n(&entry->taker, 0, __ATOMIC_RELAXED);
    gf_host_publish(&entry->state, gf_pipe_word(generation, GF_PIPE_OFFERED));
}

gf_status gf_pipe_offer(gf_pipe_source *source, const void *address, size_t bytes, struct gf_offer_name *name,
                        struct gf_reason *why)
{
    gf_status status = GF_NO_RESOURCE;

    pthread_mutex_lock(&source->lock);
    if (source->free_count > 0) {
        int index = source->free[--source->free_count];

        make_offer(source, index, address, bytes);
        source->active[source->active_count++] = index;
        *name = (struct gf_offer_name){ .board = source->name, .index = (uint32_t)index,
                                        .generation = source->offers[index].generation };
        status = GF_OK;
    }
    pthread_mutex_unlock(&source->lock);
    if (status != GF_OK) {
        gf_reason_set(why, "%d messages through host memory are under way", GF_PIPE_ENTRIES);
    }
    return status;
}

static gf_status explain(const gf_pipe_source *source, uint32_t index, struct gf_reason *why)
{
    const struct outgoing *offer = &source->offers[index];
    int taker = (int)__atomic_load_n(&shared(source, (int)index)->taker, __ATOMIC_RELAXED);

    if (offer->status == GF_ERR_PEER) {
        gf_reason_set(why, "process %d has ended, or gave up, while it received a message", taker);
    } else if (offer->status != GF_OK) {
        gf_reason_set(why, "a message to process %d could not be copied through host memory: %s", taker,
                      gf_status_string(offer->status));
    }
    return offer->status;
}

gf_status gf_pipe_offer_poll(gf_pipe_source *source, uint32_t index, struct gf_reason *why)
{
    struct outgoing *offer = &source->offers[index];

    if (!atomic_load_explicit(&offer->ended, memory_order_acquire)) {
        return GF_IN_PROGRESS;
    }
    pthread_mutex_lock(&source->lock);
    assert(offer->held && "this offer has ended before");
    gf_status status = explain(source, index, why);

    offer->held = false;
    pthread_mutex_unlock(&source->lock);
    return status;
}

/* At place in active. */
static void make_free(gf_pipe_source *source, int place)
{
    int index = source->active[place];

    gf_host_publish(&shared(source, index)->state, GF_PIPE_FREE);
    source->active[place] = source->active[--source->active_count];
    source->free[source->free_count++] = index;
}

gf_status gf_pipe_offer_withdraw(gf_pipe_source *source, uint32_t index)
{
    struct outgoing *offer = &source->offers[index];
    gf_status status = GF_IN_PROGRESS;

    pthread_mutex_lock(&source->lock);
    if (gf_host_move(&shared(source, (int)index)->state, gf_pipe_word(offer->generation, GF_PIPE_OFFERED), GF_PIPE_FREE)) {
        for (int place = 0; place < source->active_count; place++) {
            if (source->active[place] == (int)index) {
                offer->held = false;
                make_free(source, place);
                break;
            }
        }
        status = GF_OK;
    }
    pthread_mutex_unlock(&source->lock);
    return status;
}

/* The caller may have its buffer back: no copy reads it. */
static void end(struct outgoing *offer)
{
    bool all = offer->wanted && offer->filled == offer->chunks;

    if ((all || offer->closed || offer->status != GF_OK) && offer->issued == offer->filled) {
        atomic_store_explicit(&offer->ended, true, memory_order_release);
    }
}

static void fail(gf_pipe_source *source, struct outgoing *offer, gf_status status)
{
    offer->status = status;
    gf_host_publish(&shared(source, (int)(offer - source->offers))->tail, GF_PIPE_BROKEN);
}

/* Copies that have ended. */
static bool settle(gf_pipe_source *source)
{
    gf_status status;
    bool moved = false;
    void *owner;

    while (gf_copy_ring_next(&source->ring, &owner, &status)) {
        struct outgoing *offer = owner;

        offer->filled++;
        if (status != GF_OK && offer->status == GF_OK) {
            fail(source, offer, status);
        } else if (offer->status == GF_OK) {
            gf_host_publish(&shared(source, (int)(offer - source->offers))->tail, offer->filled);
        }
        end(offer);
        moved = true;
    }
    return moved;
}

static void return_slots(gf_pipe_source *source, int index, uint64_t until)
{
    struct outgoing *offer = &source->offers[index];

    while (offer->returned < until) {
        source->free_slots[source->free_slot_count++] = shared(source, index)->slots[offer->returned++ % GF_PIPE_DEPTH];
    }
}

/* What the receiver has done. True: the offer is free now. */
static bool look(gf_pipe_source *source, int place)
{
    int index = source->active[place];
    struct outgoing *offer = &source->offers[index];
    struct gf_pipe_entry *entry = shared(source, index);
    uint64_t state = gf_host_observe(&entry->state);

    if (state == gf_pipe_word(offer->generation, GF_PIPE_OFFERED)) {
        return false;
    }
    if (!offer->wanted) {
        offer->wanted = true;
        offer->bytes = entry->wanted;
        offer->chunks = gf_pipe_chunks(offer->bytes, offer->chunk_bytes);
    }
    if (state == gf_pipe_word(offer->generation, GF_PIPE_WANTED)) {
        return_slots(source, index, gf_host_observe(&entry->head));
        end(offer);
        return false;
    }
    if (!offer->closed) {
        offer->closed = true;
        if (state == gf_pipe_word(offer->generation, GF_PIPE_FAILED) && offer->status == GF_OK) {
            offer->status = entry->failure == GF_OK ? GF_ERR_PEER : (gf_status)entry->failure;
        }
    }
    end(offer);
    if (offer->issued != offer->filled) {
        return false;
    }
    return_slots(source, index, offer->issued);
    if (offer->held) {
        return false;
    }
    make_free(source, place);
    return true;
}

static bool wants_slot(const gf_pipe_source *source, const struct outgoing *offer)
{
    return offer->wanted && !offer->closed && offer->status == GF_OK && offer->issued < offer->chunks &&
           offer->issued - offer->returned < source->config.depth;
}

static void fill_slot(gf_pipe_source *source, int index)
{
    struct outgoing *offer = &source->offers[index];
    uint16_t slot = source->free_slots[--source->free_slot_count];
    gf_status status = gf_copy_ring_start(&source->ring, gf_pipe_slot(source->memory, slot),
                                          offer->address + offer->issued * offer->chunk_bytes,
                                          gf_pipe_chunk_length(offer->bytes, offer->chunk_bytes, offer->issued), offer);

    if (status != GF_OK) {
        source->free_slots[source->free_slot_count++] = slot;
        fail(source, offer, status);
        end(offer);
        return;
    }
    shared(source, index)->slots[offer->issued++ % GF_PIPE_DEPTH] = slot;
}

/* Messages take turns, a chunk each. */
static bool fill(gf_pipe_source *source)
{
    bool moved = false;

    for (int tried = 0; tried < source->active_count;) {
        if (source->free_slot_count == 0 || gf_copy_ring_full(&source->ring)) {
            break;
        }
        source->turn = (source->turn + 1) % source->active_count;
        if (!wants_slot(source, &source->offers[source->active[source->turn]])) {
            tried++;
            continue;
        }
        fill_slot(source, source->active[source->turn]);
        moved = true;
        tried = 0;
    }
    return moved;
}

/* A receiver that has died can tell nothing. */
static void look_at_takers(gf_pipe_source *source)
{
    for (int place = 0; place < source->active_count; place++) {
        int index = source->active[place];
        int32_t taker = __atomic_load_n(&shared(source, index)->taker, __ATOMIC_RELAXED);

        if (taker > 0 && !gf_pipe_process_lives(taker)) {
            gf_host_move(&shared(source, index)->state, gf_pipe_word(source->offers[index].generation, GF_PIPE_WANTED),
                         gf_pipe_word(source->offers[index].generation, GF_PIPE_FAILED));
        }
    }
}

enum gf_pipe_turn gf_pipe_source_progress(gf_pipe_source *source)
{
    enum gf_pipe_turn turn = GF_PIPE_IDLE;

    if (pthread_mutex_trylock(&source->lock) != 0) {
        return GF_PIPE_WAITING;
    }
    if (source->active_count > 0) {
        bool moved = settle(source);

        for (int place = source->active_count - 1; place >= 0; place--) {
            moved |= look(source, place);
        }
        moved |= fill(source);
        if (gf_pipe_watch_due(&source->watch)) {
            look_at_takers(source);
        }
        turn = moved ? GF_PIPE_MOVED : GF_PIPE_WAITING;
    }
    pthread_mutex_unlock(&source->lock);
    return turn;
}
