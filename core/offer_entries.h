/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of an offer board, for its own files: offer_board.c (making offers and their ends) and offer_move.c (moving them).
 */
#ifndef GF_CORE_OFFER_ENTRIES_H
#define GF_CORE_OFFER_ENTRIES_H

#include "base/clock.h"
#include "core/exports.h"
#include "core/offer.h"

enum { GF_OFFER_NONE = -1 };

/* What this process knows of one of its offers. */
struct gf_offer_entry {
    uint64_t word;                 /* OFFERED, of this generation */
    uint32_t generation;
    bool held;                     /* by the caller, until poll has told it the end */
    bool moved;
    bool copied;                   /* into a slot: not the program's yet, whatever the receiver says */
    int slot;                      /* where it has been or is being moved, or GF_OFFER_NONE */
    int older, newer;              /* the waiting ones, in the order in which they were made; GF_OFFER_NONE at the ends */
    bool waits;                    /* in that list: may be moved */
    const void *address;
    size_t bytes;
    uint64_t since_ns;
};

/* One copy into a slot that is under way. */
struct gf_offer_copy {
    int index;
    int slot;
};

struct gf_offer_board {
    gf_device *device;
    struct gf_pull_config config;
    struct gf_segment segment;
    struct gf_segment_name name;
    struct gf_board_memory *memory;
    struct gf_exports *exports;    /* the process's, in its table of mappings */
    struct gf_offer_entry entries[GF_OFFERS];
    int free[GF_OFFERS], free_count;           /* stacks: what was used last is in the cache */
    int free_slots[GF_OFFER_SLOTS], free_slot_count;
    int oldest, newest, waiting;               /* entries that may be moved: the ends of their list, and how many; each has a
                                                  free slot */
    int parked;                                /* entries that are moved and not the caller's any more */
    int lost;                                  /* entries that are never used again: see lose */
    gf_stream *stream;                         /* made with the first move */
    struct gf_offer_copy moves[GF_OFFER_SLOTS];
    int move_count;
    uint32_t calls;
};

static inline struct gf_offer *gf_offer_shared(const gf_offer_board *board, int index)
{
    return &board->memory->offers[index];
}

/* No longer one of those that wait to be moved; nothing if it is none of them. */
void gf_offer_remove_waiting(gf_offer_board *board, int index);

/* Ends copies that are finished, and says for each offer whether it was moved by it. GF_IN_PROGRESS while they run. */
gf_status gf_offer_finish_moves(gf_offer_board *board, struct gf_reason *why);

/* Frees what was moved and has been fetched since. */
void gf_offer_collect_parked(gf_offer_board *board);

#endif
