/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What lies on an offer board: shared memory of the sender's process and of those that fetch from it. See core/offer_board.h
 * for the life of an offer.
 */
#ifndef GF_CORE_OFFER_H
#define GF_CORE_OFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"
#include "core/offer_board.h"
#include "kernels/work.h"

/* The state word. What only one use of the offer may see carries its generation; the ends do not, so that a device can store
 * them without being told. */
enum gf_offer_state {
    GF_OFFER_FREE = 0,
    GF_OFFER_DONE = GF_PULL_END,
    GF_OFFER_FAILED = 2,
    GF_OFFER_OFFERED = 4,          /* from here on with a generation */
    GF_OFFER_TAKEN = 5,
    GF_OFFER_MOVED = 6
};

enum { GF_OFFER_STATE_BITS = 0xff };

static inline uint64_t gf_offer_word(uint32_t generation, enum gf_offer_state state)
{
    return (uint64_t)generation << 8 | (uint64_t)state;
}

/* Has the receiver ended it? */
static inline bool gf_offer_ended(uint64_t word)
{
    return word == GF_OFFER_DONE || word == GF_OFFER_FAILED;
}

/* The sender writes it before it publishes OFFERED; the receiver writes taker, failure and sharing, and whoever the word names
 * moves the state. What a receiver that has mapped the buffer already needs is in the first 64 bytes. */
struct gf_offer {
    uint64_t state;
    uint64_t bytes;
    uint64_t offset;               /* of the data in their allocation */
    int32_t slot;                  /* where the data are once MOVED */
    int32_t taker;                 /* process of the receiver, 0: nobody yet */
    int32_t failure;               /* a gf_status, once FAILED */
    uint32_t sharing;              /* enum gf_sharing, once TAKEN */
    struct gf_buffer buffer;       /* the allocation; its handle begins after 64 bytes */
    char apart[2 * GF_LINE - 40 - sizeof(struct gf_buffer)];
};
_Static_assert(offsetof(struct gf_offer, buffer.handle) == 64, "id, base and size are in the first 64 bytes");
_Static_assert(sizeof(struct gf_offer) == 2 * GF_LINE, "offers do not share lines");

#define GF_BOARD_MAGIC 0x67666f6666657232ull

struct gf_board_memory {
    uint64_t magic;                /* tells a version */
    uint64_t process;              /* the owner's gf_driver.process */
    char apart[GF_LINE - 2 * sizeof(uint64_t)];
    struct gf_offer offers[GF_OFFERS];
    char slots[GF_OFFER_SLOTS][GF_OFFER_SLOT_BYTES];
};

#endif
