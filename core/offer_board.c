/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side: making offers, moving those that nobody comes for, and finding free ones.
 */
#include "core/offer_board.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/exports.h"
#include "core/host_ordered.h"
#include "core/offer.h"

enum { NONE = -1 };

/* A look at the takers' lives: rarely enough to cost nothing. */
enum { CALLS_PER_LOOK = 1 << 16 };

/* What this process knows of one of its offers. */
struct entry {
    uint64_t word;                 /* OFFERED, of this generation */
    uint32_t generation;
    bool held;                     /* by the caller, until poll has told it the end */
    bool moved;
    int slot;                      /* where it has been or is being moved, or NONE */
    int older, newer;              /* the waiting ones, in the order in which they were made; NONE at the ends */
    bool waits;                    /* in that list: may be moved */
    const void *address;
    size_t bytes;
    uint64_t since_ns;
};

/* One copy into a slot that is under way. */
struct move {
    int index;
    uint32_t generation;           /* the offer may have ended meanwhile, and be another one now */
    int slot;
};

struct gf_offer_board {
    gf_device *device;
    struct gf_pull_config config;
    struct gf_segment segment;
    struct gf_segment_name name;
    struct gf_board_memory *memory;
    struct gf_exports exports;
    struct entry entries[GF_OFFERS];
    int free[GF_OFFERS], free_count;           /* stacks: what was used last is in the cache */
    int free_slots[GF_OFFER_SLOTS], free_slot_count;
    int oldest, newest;                        /* waiting entries */
    int parked;                                /* entries that are moved and not the caller's any more */
    int lost;                                  /* entries that are never used again: see lose */
    gf_stream *stream;                         /* made with the first move */
    struct move moves[GF_OFFER_SLOTS];
    int move_count;
    uint32_t calls;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct gf_offer *shared(const gf_offer_board *board, int index)
{
    return &board->memory->offers[index];
}

static void init_lists(gf_offer_board *board)
{
    board->oldest = board->newest = NONE;
    for (int i = 0; i < GF_OFFERS; i++) {
        board->free[i] = GF_OFFERS - 1 - i;
    }
    board->free_count = GF_OFFERS;
    for (int i = 0; i < GF_OFFER_SLOTS; i++) {
        board->free_slots[i] = GF_OFFER_SLOTS - 1 - i;
    }
    board->free_slot_count = GF_OFFER_SLOTS;
}

gf_status gf_offer_board_create(gf_device *device, const struct gf_pull_config *config, gf_offer_board **made,
                                struct gf_reason *why)
{
    *made = NULL;
    if (!device->caps.ipc) {
        gf_reason_set(why, "the memory of this device cannot be mapped by other processes");
        return GF_ERR_UNSUPPORTED;
    }
    gf_offer_board *board = calloc(1, sizeof *board);

    if (!board) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    board->device = board->exports.device = device;
    board->config = *config;
    if (board->config.move_bytes > GF_OFFER_SLOT_BYTES) {
        board->config.move_bytes = GF_OFFER_SLOT_BYTES;
    }
    init_lists(board);
    gf_status status = gf_segment_create(sizeof *board->memory, &board->segment, &board->name, why);

    if (status == GF_OK) {
        status = gf_device_host_register(device, board->segment.address, board->segment.bytes, why);
    }
    if (status != GF_OK) {
        gf_segment_close(&board->segment);
        free(board);
        return status;
    }
    board->memory = board->segment.address;
    board->memory->magic = GF_BOARD_MAGIC;
    *made = board;
    return GF_OK;
}

void gf_offer_board_destroy(gf_offer_board *board)
{
    if (!board) {
        return;
    }
    if (board->stream) {
        gf_device_stream_destroy(board->device, board->stream);
    }
    gf_device_host_unregister(board->device, board->segment.address);
    gf_segment_close(&board->segment);
    free(board);
}

static void append_waiting(gf_offer_board *board, int index)
{
    struct entry *entry = &board->entries[index];

    entry->waits = true;
    entry->older = board->newest;
    entry->newer = NONE;
    if (board->newest != NONE) {
        board->entries[board->newest].newer = index;
    } else {
        board->oldest = index;
    }
    board->newest = index;
}

static void remove_waiting(gf_offer_board *board, int index)
{
    struct entry *entry = &board->entries[index];

    if (!entry->waits) {
        return;
    }
    *(entry->older != NONE ? &board->entries[entry->older].newer : &board->oldest) = entry->newer;
    *(entry->newer != NONE ? &board->entries[entry->newer].older : &board->newest) = entry->older;
    entry->waits = false;
}

/* Neither the caller nor a receiver has it any more. */
static void make_free(gf_offer_board *board, int index)
{
    struct entry *entry = &board->entries[index];

    remove_waiting(board, index);
    if (entry->moved) {
        board->free_slots[board->free_slot_count++] = entry->slot;
        entry->moved = false;
    }
    entry->held = false;
    gf_host_publish(&shared(board, index)->state, GF_OFFER_FREE);
    board->free[board->free_count++] = index;
}

/* The receiver's process has ended, but its device may still store an end some day, which would hit a later offer. */
static void lose(gf_offer_board *board, int index)
{
    remove_waiting(board, index);
    board->entries[index].held = false;
    board->lost++;
}

/* Frees what was moved and has been fetched since. */
static void collect_parked(gf_offer_board *board)
{
    for (int i = 0; i < GF_OFFERS && board->parked > 0; i++) {
        struct entry *entry = &board->entries[i];

        if (entry->moved && !entry->held && gf_offer_ended(gf_host_observe(&shared(board, i)->state))) {
            make_free(board, i);
            board->parked--;
        }
    }
}

static gf_status check_offer(const gf_offer_board *board, const struct gf_pointer *pointer, const void *address, size_t bytes,
                             struct gf_reason *why)
{
    uintptr_t start = (uintptr_t)address, base = (uintptr_t)pointer->base;

    if (pointer->kind != GF_MEMORY_DEVICE || pointer->ordinal != board->device->ordinal || !pointer->ipc) {
        gf_reason_set(why, "memory at %p cannot be mapped by other processes: plain allocations of the device can", address);
        return GF_ERR_UNSUPPORTED;
    }
    if (bytes == 0 || start < base || start - base > pointer->size || bytes > pointer->size - (start - base)) {
        gf_reason_set(why, "%zu bytes at %p do not lie within one allocation of device memory", bytes, address);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* Says where the data lie. The handle is written only where it is not there already: then a receiver has it in its cache. */
static gf_status describe(gf_offer_board *board, struct gf_offer *offer, const struct gf_pointer *pointer, const void *address,
                          size_t bytes, struct gf_reason *why)
{
    if (offer->buffer_id != pointer->buffer_id || pointer->buffer_id == 0) {
        const struct gf_ipc_handle *handle;
        gf_status status = gf_exports_get(&board->exports, pointer, &handle, why);

        if (status != GF_OK) {
            return status;
        }
        offer->handle = *handle;
        memcpy(offer->uuid, board->device->caps.uuid, sizeof offer->uuid);
        offer->buffer_id = pointer->buffer_id;
        offer->base = (uintptr_t)pointer->base;
        offer->size = pointer->size;
    }
    offer->bytes = bytes;
    offer->offset = (uint64_t)((uintptr_t)address - (uintptr_t)pointer->base);
    offer->slot = NONE;
    offer->failure = GF_OK;
    __atomic_store_n(&offer->taker, 0, __ATOMIC_RELAXED);
    return GF_OK;
}

gf_status gf_offer_make(gf_offer_board *board, const struct gf_pointer *pointer, const void *address, size_t bytes, bool may_move,
                        struct gf_offer_name *name, struct gf_reason *why)
{
    gf_status status = check_offer(board, pointer, address, bytes, why);

    if (status != GF_OK) {
        return status;
    }
    if (board->free_count == 0) {
        collect_parked(board);
    }
    if (board->free_count == 0) {
        gf_reason_set(why, "%d device messages of this process are under way", GF_OFFERS);
        return GF_NO_RESOURCE;
    }
    int index = board->free[board->free_count - 1];
    struct entry *entry = &board->entries[index];

    status = describe(board, shared(board, index), pointer, address, bytes, why);
    if (status != GF_OK) {
        return status;
    }
    board->free_count--;
    entry->generation++;
    entry->word = gf_offer_word(entry->generation, GF_OFFER_OFFERED);
    entry->held = true;
    entry->slot = NONE;
    entry->address = address;
    entry->bytes = bytes;
    if (may_move && bytes <= board->config.move_bytes) {
        entry->since_ns = now_ns();
        append_waiting(board, index);
    }
    gf_host_publish(&shared(board, index)->state, entry->word);
    *name = (struct gf_offer_name){ .board = board->name, .index = (uint32_t)index, .generation = entry->generation };
    return GF_OK;
}

/* What the receiver says that went wrong. */
static gf_status failure_of(const struct gf_offer *offer, struct gf_reason *why)
{
    gf_status status = (gf_status)offer->failure;

    if (status == GF_OK) {
        gf_reason_set(why, "process %d has ended while it fetched a message of %llu bytes", (int)offer->taker,
                      (unsigned long long)offer->bytes);
        return GF_ERR_PEER;
    }
    gf_reason_set(why, "process %d could not fetch a message of %llu bytes: %s", (int)offer->taker,
                  (unsigned long long)offer->bytes, gf_status_string(status));
    return status;
}

gf_status gf_offer_poll(gf_offer_board *board, uint32_t index, struct gf_reason *why)
{
    struct entry *entry = &board->entries[index];
    struct gf_offer *offer = shared(board, (int)index);
    uint64_t state = gf_host_observe(&offer->state);
    gf_status status = GF_OK;

    assert(entry->held && "this offer has ended before");
    if (!gf_offer_ended(state)) {
        if (!entry->moved) {
            return GF_IN_PROGRESS;
        }
        entry->held = false;
        board->parked++;
        return GF_OK;
    }
    if (state == GF_OFFER_FAILED && !entry->moved) {
        status = failure_of(offer, why);
        if (offer->failure == GF_OK) {
            lose(board, (int)index);
            return status;
        }
    }
    make_free(board, (int)index);
    return status;
}

gf_status gf_offer_withdraw(gf_offer_board *board, uint32_t index)
{
    struct entry *entry = &board->entries[index];
    struct gf_offer *offer = shared(board, (int)index);

    if (!gf_host_move(&offer->state, entry->moved ? gf_offer_word(entry->generation, GF_OFFER_MOVED) : entry->word,
                      GF_OFFER_FREE)) {
        return GF_IN_PROGRESS;
    }
    make_free(board, (int)index);
    return GF_OK;
}

/* The copy into the slot is finished: whose is the offer? */
static void settle_move(gf_offer_board *board, const struct move *move)
{
    struct entry *entry = &board->entries[move->index];
    struct gf_offer *offer = shared(board, move->index);

    if (entry->held && entry->generation == move->generation) {
        offer->slot = move->slot;
        if (gf_host_move(&offer->state, entry->word, gf_offer_word(entry->generation, GF_OFFER_MOVED))) {
            entry->moved = true;
            entry->slot = move->slot;
            return;
        }
    }
    board->free_slots[board->free_slot_count++] = move->slot;
}

/* True when no copy is under way any more. */
static gf_status finish_moves(gf_offer_board *board, struct gf_reason *why)
{
    if (board->move_count == 0) {
        return GF_OK;
    }
    gf_status status = gf_device_stream_query(board->device, board->stream);

    if (status == GF_IN_PROGRESS) {
        return status;
    }
    for (int i = 0; i < board->move_count && status == GF_OK; i++) {
        settle_move(board, &board->moves[i]);
    }
    board->move_count = 0;
    if (status != GF_OK) {
        gf_reason_set(why, "copying a small message to host memory failed: %s", gf_status_string(status));
    }
    return status;
}

static gf_status start_move(gf_offer_board *board, int index, struct gf_reason *why)
{
    struct entry *entry = &board->entries[index];
    gf_status status = board->stream ? GF_OK : gf_device_stream_create(board->device, &board->stream, why);

    remove_waiting(board, index);
    if (status != GF_OK || gf_host_observe(&shared(board, index)->state) != entry->word) {
        return status;
    }
    int slot = board->free_slots[--board->free_slot_count];

    board->moves[board->move_count++] = (struct move){ .index = index, .generation = entry->generation, .slot = slot };
    status = gf_device_copy(board->device, board->stream, board->memory->slots[slot], entry->address, entry->bytes);
    if (status != GF_OK) {
        board->move_count--;
        board->free_slots[board->free_slot_count++] = slot;
        gf_reason_set(why, "a small message cannot be copied to host memory: %s", gf_status_string(status));
    }
    return status;
}

static gf_status start_moves(gf_offer_board *board, struct gf_reason *why)
{
    uint64_t now = now_ns(), patience = (uint64_t)board->config.patience_us * 1000u;
    gf_status status = GF_OK;

    while (status == GF_OK && board->oldest != NONE && now - board->entries[board->oldest].since_ns >= patience) {
        if (board->free_slot_count == 0) {
            collect_parked(board);
        }
        if (board->free_slot_count == 0) {
            break;
        }
        status = start_move(board, board->oldest, why);
    }
    return status;
}

/* A receiver that died can tell nothing. Its device may still store an end, which then comes too late to matter. */
static void look_at_takers(gf_offer_board *board)
{
    for (int i = 0; i < GF_OFFERS; i++) {
        struct gf_offer *offer = shared(board, i);
        uint64_t taken = gf_offer_word(board->entries[i].generation, GF_OFFER_TAKEN);
        int32_t taker = __atomic_load_n(&offer->taker, __ATOMIC_RELAXED);

        if (board->entries[i].held && taker > 0 && kill(taker, 0) != 0 && errno == ESRCH) {
            gf_host_move(&offer->state, taken, GF_OFFER_FAILED);
        }
    }
}

gf_status gf_offer_board_progress(gf_offer_board *board, struct gf_reason *why)
{
    if (++board->calls % CALLS_PER_LOOK == 0 && board->free_count < GF_OFFERS) {
        look_at_takers(board);
    }
    gf_status status = finish_moves(board, why);

    if (status != GF_OK) {
        return status == GF_IN_PROGRESS ? GF_OK : status;
    }
    return board->oldest == NONE ? GF_OK : start_moves(board, why);
}

bool gf_offer_board_busy(gf_offer_board *board)
{
    collect_parked(board);
    return board->free_count + board->lost < GF_OFFERS || board->move_count > 0;
}
