/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line of a credit: the receiver's leave to put one step. It is believed when its first and its last word both have the
 * number of its round, counted from 1 and never reset; the words that are there before are those of the same line's earlier
 * rounds, or 0.
 */
#ifndef GF_TRANSPORT_NET_CREDIT_H
#define GF_TRANSPORT_NET_CREDIT_H

#include <string.h>

#include "core/host_ordered.h"
#include "kernels/mutants.h"
#include "kernels/work.h"
#include "transport/wire.h"


/* Bytes at an address in a buffer of the program. */
struct gf_net_offer {
    uint64_t address;
    uint32_t bytes, key;
};

enum { GF_NET_CREDIT_OFFERS = 1 };     /* flags: the data may go to `offer` instead, if they are as long (net_loan.h) */

struct gf_net_credit {
    uint64_t first;                /* round + 1 */
    uint64_t address;              /* of the slot, as the receiver's wire knows it */
    uint64_t bytes;                /* most that may be put there */
    uint32_t key;
    uint32_t count;                /* lines of this credit: steps of the round */
    uint32_t channel;
    uint32_t flags;                /* others are 0 */
    struct gf_net_offer offer;
    uint64_t last;                 /* as first */
};
_Static_assert(sizeof(struct gf_net_credit) == GF_WIRE_LINE, "a credit is a line");

/* May this word be in a line of that round while its credit is on its way? */
static inline bool gf_net_credit_is_older(uint64_t word, uint64_t round)
{
    return word == 0 || (word <= round && (round + 1 - word) % GF_FIFO_DEPTH == 0);
}

/* GF_IN_PROGRESS: it is not there yet, or not whole. GF_ERR_PEER: this line is of no round that could be here. */
static inline gf_status gf_net_credit_take(const char *line, uint64_t round, struct gf_net_credit *credit)
{
    const struct gf_net_credit *there = (const void *)line;
    uint64_t first = gf_host_observe(&there->first), last = gf_host_observe(&there->last);

    if (GF_MUTANT == GF_MUTANT_NET_HALF_CREDIT) {
        last = first;
    }
    if (first == round + 1 && last == round + 1) {
        memcpy(credit, there, sizeof *credit);
        return GF_OK;
    }
    bool may_come = (first == round + 1 || gf_net_credit_is_older(first, round))
        && (last == round + 1 || gf_net_credit_is_older(last, round));

    return may_come ? GF_IN_PROGRESS : GF_ERR_PEER;
}

#endif
