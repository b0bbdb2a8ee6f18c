/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of an offer board: moves what nobody comes for, and notices receivers that have ended.
 */
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/offer_entries.h"

/* A look at the takers' lives: rarely enough to cost nothing. */
enum { CALLS_PER_LOOK = 1 << 16 };

/* The copy into the slot is finished: whose is the offer? */
static void settle_move(gf_offer_board *board, const struct gf_offer_copy *move)
{
    struct gf_offer_entry *entry = &board->entries[move->index];
    struct gf_offer *offer = gf_offer_shared(board, move->index);

    offer->slot = move->slot;
    if (gf_host_move(&offer->state, entry->word, gf_offer_word(entry->generation, GF_OFFER_MOVED))) {
        entry->moved = true;
        entry->slot = move->slot;
        return;
    }
    board->free_slots[board->free_slot_count++] = move->slot;
}

gf_status gf_offer_finish_moves(gf_offer_board *board, struct gf_reason *why)
{
    if (board->move_count == 0) {
        return GF_OK;
    }
    gf_status status = gf_device_stream_query(board->device, board->stream);

    if (status == GF_IN_PROGRESS) {
        return status;
    }
    for (int i = 0; i < board->move_count; i++) {
        board->entries[board->moves[i].index].copied = false;
        if (status == GF_OK) {
            settle_move(board, &board->moves[i]);
        } else {
            board->free_slots[board->free_slot_count++] = board->moves[i].slot;
        }
    }
    board->move_count = 0;
    if (status != GF_OK) {
        gf_reason_set(why, "copying a small message to host memory failed: %s", gf_status_string(status));
    }
    return status;
}

static gf_status start_move(gf_offer_board *board, int index, struct gf_reason *why)
{
    struct gf_offer_entry *entry = &board->entries[index];
    gf_status status = board->stream ? GF_OK : gf_device_stream_create(board->device, &board->stream, why);

    gf_offer_remove_waiting(board, index);
    if (status != GF_OK || gf_host_observe(&gf_offer_shared(board, index)->state) != entry->word) {
        return status;
    }
    int slot = board->free_slots[--board->free_slot_count];

    board->moves[board->move_count++] = (struct gf_offer_copy){ .index = index, .slot = slot };
    status = gf_device_copy(board->device, board->stream, board->memory->slots[slot], entry->address, entry->bytes);
    if (status != GF_OK) {
        board->move_count--;
        board->free_slots[board->free_slot_count++] = slot;
        gf_reason_set(why, "a small message cannot be copied to host memory: %s", gf_status_string(status));
    }
    entry->copied = status == GF_OK;
    return status;
}

static gf_status start_moves(gf_offer_board *board, struct gf_reason *why)
{
    uint64_t now = gf_now_ns(), patience = (uint64_t)board->config.patience_us * 1000u;
    gf_status status = GF_OK;

    while (status == GF_OK && board->oldest != GF_OFFER_NONE && now - board->entries[board->oldest].since_ns >= patience) {
        status = start_move(board, board->oldest, why);
    }
    return status;
}

/* A receiver that died can tell nothing. Its device may still store an end, which then comes too late to matter. */
static void look_at_takers(gf_offer_board *board)
{
    for (int i = 0; i < GF_OFFERS; i++) {
        struct gf_offer *offer = gf_offer_shared(board, i);
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
    gf_status status = gf_offer_finish_moves(board, why);

    if (status != GF_OK) {
        return status == GF_IN_PROGRESS ? GF_OK : status;
    }
    return board->oldest == GF_OFFER_NONE ? GF_OK : start_moves(board, why);
}
