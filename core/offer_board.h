/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side of a device message that the receiver fetches: an *offer* says where the data lies. The receiver takes it
 * (core/pull.h) and says on the offer itself when it is done, so no message goes back.
 *
 * The board is host memory that peers attach by name. An offer goes
 *
 *     FREE → OFFERED → TAKEN → DONE or FAILED → FREE        the receiver takes it and fetches from the sender's buffer
 * → MOVED → DONE or FAILED → FREE nobody came for a while: the sender has copied the data into the board
 *
 * OFFERED → TAKEN (receiver) and OFFERED → MOVED (sender) are compare-and-swaps on one word: who loses obeys. DONE is stored by
 * the receiver's GPU itself, so that the sender learns of it although the receiver computes.
 *
 * Moving is why a small MPI_Send returns although nobody receives. Only small offers, and only those that may be, are moved.
 *
 * Threads: a board is used by one thread at a time; the caller holds a lock round its calls where there are several.
 */
#ifndef GF_CORE_OFFER_BOARD_H
#define GF_CORE_OFFER_BOARD_H

#include "core/pull_plan.h"
#include "core/segment.h"
#include "device/device.h"

enum {
    GF_OFFERS = 1024,              /* of one board, at a time */
    GF_OFFER_SLOTS = 128,          /* room for moved offers */
    GF_OFFER_SLOT_BYTES = 8192
};

/* Names an offer to the receiver: plain bytes, in the message's envelope. */
struct gf_offer_name {
    struct gf_segment_name board;
    uint32_t index;                /* below GF_OFFERS */
    uint32_t generation;           /* of this use of the offer */
};
_Static_assert(sizeof(struct gf_offer_name) == 40, "every process has the same idea of a gf_offer_name");

typedef struct gf_offer_board gf_offer_board;
struct gf_imports;                 /* core/imports.h */

/* What one end of a message knows of the device of the other: is it the same? */
enum gf_sharing { GF_SHARING_UNKNOWN, GF_SHARING_SAME, GF_SHARING_OTHER };

/* Offers of memory of the device whose mappings these are. GF_ERR_UNSUPPORTED where the device's memory cannot be mapped by
 * others. The device outlives the board, and imports the last offer that is made. */
gf_status gf_offer_board_create(struct gf_imports *imports, const struct gf_pull_config *config, gf_offer_board **board,
                                struct gf_reason *why);

/* Offers [address, address + bytes), bytes ≥ 1, which does not change until gf_offer_poll says the end. pointer is what
 * gf_driver_pointer says of it: device memory of this device. may_move: its end may be that it was moved (not for a synchronous
 * send). GF_ERR_UNSUPPORTED: stage it. GF_NO_RESOURCE: all offers are in use, or all slots by those that wait for their
 * receivers; stage it, or call again after progress. The offer is name->index from here on. */
gf_status gf_offer_make(gf_offer_board *board, const struct gf_pointer *pointer, const void *address, size_t bytes, bool may_move,
                        struct gf_offer_name *name, struct gf_reason *why);

/* GF_IN_PROGRESS, or the end: GF_OK (the receiver has the data, or they were moved: the buffer is the program's again), or what
 * the receiver failed with. At its end the index is the board's again. A load of one word of host memory. */
gf_status gf_offer_poll(gf_offer_board *board, uint32_t index, struct gf_reason *why);

/* What the receiver has said of its device so far; before gf_offer_poll has said the end. One that was moved it says nothing
 * of. */
enum gf_sharing gf_offer_sharing(const gf_offer_board *board, uint32_t index);

/* Takes an offer back that no receiver will come for, since its name was not sent, or the message cancelled. GF_OK: done, the
 * index is the board's again. GF_IN_PROGRESS: somebody has taken it; go on with gf_offer_poll. */
gf_status gf_offer_withdraw(gf_offer_board *board, uint32_t index);

/* Moves what waits too long. Costs a nanosecond when nothing may move, else a look at the clock. An error is the device's. */
gf_status gf_offer_board_progress(gf_offer_board *board, struct gf_reason *why);

/* True while some offer is not free: moved ones included, which their receivers are still to fetch. The process keeps its
 * boards until then, or until it knows that nobody will. */
bool gf_offer_board_busy(gf_offer_board *board);

/* Waits for copies of its own. No offer may be in use by the caller. Accepts null. */
void gf_offer_board_destroy(gf_offer_board *board);

#endif
