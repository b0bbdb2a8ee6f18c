/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Without copies: steps whose data are in a buffer of the program at both ends go from one to the other. That is agreed upon for
 * each step, by words that say so (net_credit.h):
 *
 *     receiver   lays the place in its buffer beside that of the slot in the credit, an offer; if the wire knows its buffer
 *     sender     says yes if the wire knows its own buffer too, and its data there are as long: puts them there, and the length
 *                that goes with the notification has GF_SIZE_LENT; else all is as without an offer
 *     kernels    the sender's is answered before it fills a slot (struct gf_conn): yes: it says that the data are where they
 *                are, and leaves them there until head says that the step is over; the receiver's finds the flag in its size
 *
 * A buffer is a launch's. So here credits follow launches, and are taken by a sender that was launched, too.
 */
#ifndef GF_TRANSPORT_NET_LOAN_H
#define GF_TRANSPORT_NET_LOAN_H

#include "core/connector.h"
#include "transport/net_buffers.h"
#include "transport/net_credit.h"

struct gf_net_end;

/* Of one end. Fixed before the launch is expected, but for `agreed`; the proxy reads it while steps of the launch have no credit
 * yet. */
struct gf_net_loan {
    bool on;                           /* this end takes part; fixed when it is opened */
    struct gf_loan lent;
    struct gf_net_buffer *buffer;      /* null: this launch's is not known to the wire */
    uint64_t first[GF_MAX_CHANNELS];   /* the launch's first step on each channel */
    uint64_t next[GF_MAX_CHANNELS];    /* the next launch's */
    uint32_t agreed;                   /* atomic; a step went without a copy */
    bool told;                         /* the log says so */
};

/* As the setting says; else where the slots are in device memory, too. Never where the wire does not reach that. */
void gf_net_loan_open(struct gf_net_end *end);

/* As gf_transport.lend and reclaim. A failed launch with a buffer that the wire knows is the end of the lanes, when each end has
 * told the other of the abort (gf_net_end_leave): so nothing arrives in the buffer any more, or leaves it. */
bool gf_net_end_lend(struct gf_net_end *end, const struct gf_loan *loan);
void gf_net_end_reclaim(struct gf_net_end *end, bool failed);

/* Before the proxy learns of a launch of so many steps. */
void gf_net_loan_expect(struct gf_net_end *end, const uint64_t *steps);

/* Where a step's data are in the buffer, as the wire knows it. False: not there, or the wire does not know it. */
bool gf_net_loan_place(const struct gf_net_end *end, int channel, uint64_t step, struct gf_net_offer *place);

#endif
