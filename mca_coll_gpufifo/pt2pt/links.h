/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between nodes by the network (transport/carrier.h): of this process one carrier, which is that of the first device
 * that needs it, and a link to each peer with whom it has exchanged long messages, made at the first one.
 *
 *   sender                                            receiver
 *   RTS of a message in chunks, `greets` ── the envelope ──▶  matches it
 *   greeting {address}               ────────────────▶   makes its end of the lane, connects it
 *   connects, from now on the RTSs   ◀──── answer ─────  {address}
 *   say GF_RTS_WIRE
 *
 * A link is one way; messages of the other way have their own. Who has no network, or a different one, says so in its greeting or
 * answer, and messages go in chunks for good; so does a message that its receiver cannot take from the network, by itself.
 * Greetings and answers go over MPI_COMM_WORLD under two reserved tags, and only where the RTS has said that one comes.
 *
 * Threads: one at a time, the requests' queue under its lock; but gf_links_exchange, which calls the PML with no lock held: one
 * thread at a time is in it, and others pass.
 */
#ifndef GF_MCA_PT2PT_LINKS_H
#define GF_MCA_PT2PT_LINKS_H

#include "mca_coll_gpufifo/ompi_abi.h"

#include "transport/carrier.h"

enum { GF_LINKS_TAG_GREETING = -8, GF_LINKS_TAG_ANSWER = -9 };     /* unused by Open MPI: see mailbox.h */

struct gf_links;

/* Names a message to its receiver: plain bytes, in the RTS. */
struct gf_link_name {
    int32_t rank;                      /* of the sender in MPI_COMM_WORLD */
    uint64_t id;                       /* there */
};

/* One message at its sender; zeroed: none. */
struct gf_link_offer {
    struct gf_carrier_lane *lane;
    struct gf_carrier_out *message;
};

/* One a process. Null: no host memory. */
struct gf_links *gf_links_create(void);
/* No greeting is under way, or the PML is gone. Accepts null. */
void gf_links_destroy(struct gf_links *links);

/* Brings greetings under way to their ends, for as long as that is likely; the PML is there. */
void gf_links_settle(struct gf_links *links);

/* Moves greetings and answers on. Costs a nanosecond when there are none. */
void gf_links_exchange(struct gf_links *links);

/* Moves all messages on. Costs a nanosecond when there are none. */
void gf_links_progress(struct gf_links *links);

/* Offers memory of that device to a rank of MPI_COMM_WORLD. GF_OK: *why says for people how the data leave. GF_ERR_UNSUPPORTED:
 * it is to go another way, *why says why if there is a network at all; *greets: it may be the one that makes the link, by
 * gf_links_greet and an RTS that says so. */
gf_status gf_links_offer(struct gf_links *links, int ordinal, const void *address, size_t bytes, int peer,
                         struct gf_link_offer *offer, struct gf_link_name *name, bool *greets, struct gf_reason *why);

/* GF_IN_PROGRESS, or the end, after which the offer is gone. GF_ERR_UNSUPPORTED: the receiver waits for it in chunks. */
gf_status gf_links_offer_poll(const struct gf_link_offer *offer, struct gf_reason *why);
void gf_links_offer_withdraw(const struct gf_link_offer *offer);

/* An RTS in chunks to that rank, of memory of that device, says that a greeting follows. */
void gf_links_greet(struct gf_links *links, int peer, int ordinal);

/* An RTS of that rank says that a greeting follows; its message goes to memory of that device. */
void gf_links_expect(struct gf_links *links, int peer, int ordinal);

/* The way from that rank; null: there is none. */
struct gf_carrier_lane *gf_links_from(struct gf_links *links, int peer);

/* Takes a message into memory of that device, or of the host. As gf_offer: GF_OK with *why saying how; GF_ERR_UNSUPPORTED: both
 * ends go on in chunks. */
gf_status gf_links_take(struct gf_links *links, struct gf_carrier_lane *lane, uint64_t id, int ordinal, void *to, size_t bytes,
                        struct gf_carrier_in *message, struct gf_reason *why);

#endif
