/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side: making offers, learning their ends, and finding free ones.
 */
#include "core/offer_board.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/imports.h"
#include "core/offer_entries.h"

static void init_lists(gf_offer_board *board)
{
    board->oldest = board->newest = GF_OFFER_NONE;
    for (int i = 0; i < GF_OFFERS; i++) {
        board->free[i] = GF_OFFERS - 1 - i;
    }
    board->free_count = GF_OFFERS;
    for (int i = 0; i < GF_OFFER_SLOTS; i++) {
        board->free_slots[i] = GF_OFFER_SLOTS - 1 - i;
    }
    board->free_slot_count = GF_OFFER_SLOTS;
}

gf_status gf_offer_board_create(struct gf_imports *imports, const struct gf_pull_config *config, gf_offer_board **made,
                                struct gf_reason *why)
{
    gf_device *device = imports->device;

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
    board->device = device;
    board->exports = &imports->exports;
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
    board->memory->process = device->driver->process;
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
    struct gf_offer_entry *entry = &board->entries[index];

    entry->waits = true;
    board->waiting++;
    entry->older = board->newest;
    entry->newer = GF_OFFER_NONE;
    if (board->newest != GF_OFFER_NONE) {
        board->entries[board->newest].newer = index;
    } else {
        board->oldest = index;
    }
    board->newest = index;
}

void gf_offer_remove_waiting(gf_offer_board *board, int index)
{
    struct gf_offer_entry *entry = &board->entries[index];

    if (!entry->waits) {
        return;
    }
    *(entry->older != GF_OFFER_NONE ? &board->entries[entry->older].newer : &board->oldest) = entry->newer;
    *(entry->newer != GF_OFFER_NONE ? &board->entries[entry->newer].older : &board->newest) = entry->older;
    entry->waits = false;
    board->waiting--;
}

/* Neither the caller nor a receiver has it any more. */
static void make_free(gf_offer_board *board, int index)
{
    struct gf_offer_entry *entry = &board->entries[index];

    gf_offer_remove_waiting(board, index);
    if (entry->moved) {
        board->free_slots[board->free_slot_count++] = entry->slot;
        entry->moved = false;
    }
    entry->held = false;
    gf_host_publish(&gf_offer_shared(board, index)->state, GF_OFFER_FREE);
    board->free[board->free_count++] = index;
}

/* The receiver's process has ended, but its device may still store an end some day, which would hit a later offer. */
static void lose(gf_offer_board *board, int index)
{
    gf_offer_remove_waiting(board, index);
    board->entries[index].held = false;
    board->lost++;
}

void gf_offer_collect_parked(gf_offer_board *board)
{
    for (int i = 0; i < GF_OFFERS && board->parked > 0; i++) {
        struct gf_offer_entry *entry = &board->entries[i];

        if (entry->moved && !entry->held && gf_offer_ended(gf_host_observe(&gf_offer_shared(board, i)->state))) {
            make_free(board, i);
            board->parked--;
        }
    }
}

static gf_status check_offer(const gf_offer_board *board, const struct gf_pointer *pointer, const void *address, size_t bytes,
                             struct gf_reason *why)
{
    uintptr_t start = (uintptr_t)address, base = (uintptr_t)pointer->base;

    if (pointer->kind != GF_MEMORY_DEVICE || pointer->ordinal != board->device->ordinal) {
        gf_reason_set(why, "the memory at %p is no memory of device %d that others could map", address, board->device->ordinal);
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
    if (offer->buffer.id != pointer->buffer_id || pointer->buffer_id == 0) {
        gf_status status = gf_exports_get(board->exports, pointer, board->config.by_fd, &offer->buffer, why);

        if (status != GF_OK) {
            return status;
        }
    }
    offer->bytes = bytes;
    offer->offset = (uint64_t)((uintptr_t)address - (uintptr_t)pointer->base);
    offer->slot = GF_OFFER_NONE;
    offer->failure = GF_OK;
    __atomic_store_n(&offer->sharing, GF_SHARING_UNKNOWN, __ATOMIC_RELAXED);
    __atomic_store_n(&offer->taker, 0, __ATOMIC_RELAXED);
    return GF_OK;
}

/* One that may be moved has a slot to itself from the start: a sender that waits for that must not wait for receivers. */
static bool has_room(const gf_offer_board *board, bool moves)
{
    return board->free_count > 0 && (!moves || board->free_slot_count > board->waiting);
}

static gf_status find_room(gf_offer_board *board, bool moves, struct gf_reason *why)
{
    if (!has_room(board, moves)) {
        gf_offer_collect_parked(board);
    }
    if (has_room(board, moves)) {
        return GF_OK;
    }
    if (board->free_count == 0) {
        gf_reason_set(why, "%d device messages of this process are under way", GF_OFFERS);
    } else {
        gf_reason_set(why, "%d small device messages of this process wait for their receivers", GF_OFFER_SLOTS);
    }
    return GF_NO_RESOURCE;
}

gf_status gf_offer_make(gf_offer_board *board, const struct gf_pointer *pointer, const void *address, size_t bytes, bool may_move,
                        struct gf_offer_name *name, struct gf_reason *why)
{
    bool moves = may_move && bytes <= board->config.move_bytes;
    gf_status status = check_offer(board, pointer, address, bytes, why);

    if (status == GF_OK) {
        status = find_room(board, moves, why);
    }
    if (status != GF_OK) {
        return status;
    }
    int index = board->free[board->free_count - 1];
    struct gf_offer_entry *entry = &board->entries[index];

    status = describe(board, gf_offer_shared(board, index), pointer, address, bytes, why);
    if (status != GF_OK) {
        return status;
    }
    board->free_count--;
    entry->generation++;
    entry->word = gf_offer_word(entry->generation, GF_OFFER_OFFERED);
    entry->held = true;
    entry->slot = GF_OFFER_NONE;
    entry->address = address;
    entry->bytes = bytes;
    if (moves) {
        entry->since_ns = gf_now_ns();
        append_waiting(board, index);
    }
    gf_host_publish(&gf_offer_shared(board, index)->state, entry->word);
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
    struct gf_offer_entry *entry = &board->entries[index];
    struct gf_offer *offer = gf_offer_shared(board, (int)index);
    uint64_t state = gf_host_observe(&offer->state);
    gf_status status = GF_OK;

    assert(entry->held && "this offer has ended before");
    if (entry->copied) {
        return GF_IN_PROGRESS;
    }
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

enum gf_sharing gf_offer_sharing(const gf_offer_board *board, uint32_t index)
{
    return (enum gf_sharing)__atomic_load_n(&gf_offer_shared(board, (int)index)->sharing, __ATOMIC_RELAXED);
}

gf_status gf_offer_withdraw(gf_offer_board *board, uint32_t index)
{
    struct gf_offer_entry *entry = &board->entries[index];
    struct gf_offer *offer = gf_offer_shared(board, (int)index);

    if (entry->copied) {
        gf_device_stream_sync(board->device, board->stream);
        gf_offer_finish_moves(board, NULL);
    }
    if (!gf_host_move(&offer->state, entry->moved ? gf_offer_word(entry->generation, GF_OFFER_MOVED) : entry->word,
                      GF_OFFER_FREE)) {
        return GF_IN_PROGRESS;
    }
    make_free(board, (int)index);
    return GF_OK;
}

bool gf_offer_board_busy(gf_offer_board *board)
{
    gf_offer_collect_parked(board);
    return board->free_count + board->lost < GF_OFFERS || board->move_count > 0;
}
