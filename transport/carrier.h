/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages over a network: from memory of one process into memory of another, of which both know, such as an MPI message once
 * it is matched. One carrier a process and device: it has a wire (net.h), and lanes to other processes, each of them one way.
 *
 *   sender                                                  receiver
 *   gf_carrier_send {id}      ── however they agree ──▶     gf_carrier_receive {id}
 *                             ◀──── credit, a line ───      {id, offset, bytes, address, key}; of as much as there is room for
 *   puts, the last of which   ────────────────────────▶     flush (gf_net_needs_flush), copy out of its own memory,
 *   notifies                                                next credit
 *
 * Where the wire reaches the program's memory at an end, data are put from there, or into there. Device memory stays registered
 * for messages to come (net_buffers.h); host memory is registered for one, since nobody would tell that it was freed. Where
 * registering fails, data go by way of *pieces*: pinned memory of the carrier's, of which an end has a fixed number for each way.
 *
 * A lane serves messages in the order of gf_carrier_receive, and the next one's data follow at once. A credit is answered by
 * exactly one notification, which carries its number and whether the data could be had; so are those by which a receiver
 * refuses a message, or wants it by another way. At most GF_CARRIER_CREDITS of a lane are under way.
 *
 * A lane that breaks ends all its messages with an error that names the peer, at both ends: an end that gives up says so in a
 * line, and an end that waits for long puts one that says nothing, which finds out whether the network is still there. If it had
 * none at its sending end, the next one there ends so: no break goes untold.
 *
 * Threads: any; the carrier has a lock, under which nothing waits but for the wire itself when a lane ends. Work is done by
 * gf_carrier_progress, and by a pump (proxy/pump.h) while the program does not call it.
 */
#ifndef GF_TRANSPORT_CARRIER_H
#define GF_TRANSPORT_CARRIER_H

#include <stdatomic.h>

#include "core/fault.h"
#include "transport/net.h"

struct gf_carrier;
struct gf_carrier_lane;

enum {
    GF_CARRIER_CREDITS = 16,           /* of a lane, under way */
    GF_CARRIER_PIECES = 16             /* of a carrier, for each way */
};

struct gf_carrier_config {
    gf_device *device;                 /* outlives the carrier */
    struct gf_net *net;                /* the carrier's alone, for as long as it lives: it makes the progress of the wire */
    int rank;                          /* of this process, as the peers know it */
    size_t piece_bytes;                /* of pinned memory; also most of one put out of it */
    struct gf_fault *fault;            /* may be null */
};

/* Opens the wire, and gdrcopy where that flushes. GF_ERR_UNSUPPORTED with a sentence: there is no wire, or not the flush that the
 * settings ask for. */
gf_status gf_carrier_create(const struct gf_carrier_config *config, struct gf_carrier **carrier, struct gf_reason *why);
/* Messages under way are lost, and lanes destroyed. Accepts null. */
void gf_carrier_destroy(struct gf_carrier *carrier);

/* The wire's kind, as "ucx": must be the same at both ends. */
const char *gf_carrier_wire(const struct gf_carrier *carrier);

/* May the wire put from memory of the device, or into it (receives)? Else *why says why not: its data go by pieces. Registering a
 * buffer may still fail. Host memory it always may. */
bool gf_carrier_reaches_device(const struct gf_carrier *carrier, bool receives, struct gf_reason *why);

/* Moves all messages on. Costs a nanosecond when there are none. */
void gf_carrier_progress(struct gf_carrier *carrier);

/* Is anything left to do? Then progress is called. */
bool gf_carrier_busy(const struct gf_carrier *carrier);

/* How many adapters the wire has. */
int gf_carrier_adapters(const struct gf_carrier *carrier);

/* One end of a lane to the process that people know as rank `peer`; *mine is for the other end, whose address connect takes. The
 * receiver's end connects before the sender's. adapters: by one of the wire's first so many, the same number at both ends, which
 * is no more than either has. The carrier's; never freed before it. */
gf_status gf_carrier_lane_create(struct gf_carrier *carrier, int peer, bool sends, int adapters, struct gf_carrier_lane **lane,
                                 struct gf_wire_address *mine, struct gf_reason *why);
gf_status gf_carrier_lane_connect(struct gf_carrier_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why);

/* By what a connected lane goes, for people. */
void gf_carrier_lane_describe(struct gf_carrier_lane *lane, struct gf_reason *how);

/* Where a message's data are at one end. */
struct gf_carrier_data {
    char *address;
    size_t bytes;
    bool device;                       /* memory of the carrier's device; else of the host */
    /* The carrier's: */
    char *place;                       /* where the wire puts from, or into; null: it does not reach them */
    struct gf_net_buffer *buffer;      /* the registered allocation they lie in; null: */
    struct gf_wire_memory own;         /* registered for this message alone */
};

/* How a message ends here; the carrier's. */
struct gf_carrier_end {
    gf_status status;                  /* so far; the result once ended */
    struct gf_reason why;
    _Atomic bool ended;
};

/* A message at its sender. The caller's memory, which stays where it is until gf_carrier_send_poll has said the end; the contents
 * are the carrier's. */
struct gf_carrier_out {
    struct gf_carrier_out *next;
    uint64_t id;
    struct gf_carrier_data data;
    uint64_t answered;                 /* bytes whose credits were answered */
    struct gf_carrier_end end;
};

/* The same at its receiver. */
struct gf_carrier_in {
    struct gf_carrier_in *next;
    uint64_t id;
    struct gf_carrier_data data;
    uint32_t kind;                     /* of its credits */
    bool own;                          /* the carrier's memory: nobody asks for the end */
    bool granted_all;
    uint64_t granted;                  /* bytes */
    struct gf_carrier_end end;
};

/* data: address, bytes and device. Unchanged until the end. id: unique among the lane's messages. *how: for people, how its data
 * leave. GF_ERR_UNSUPPORTED: the lane cannot be used (any more, and a message has told why); nothing was begun. */
gf_status gf_carrier_send(struct gf_carrier_lane *lane, uint64_t id, const struct gf_carrier_data *data,
                          struct gf_carrier_out *message, struct gf_reason *how);

/* GF_IN_PROGRESS, or the end. GF_ERR_UNSUPPORTED: the receiver wants it by another way. */
gf_status gf_carrier_send_poll(const struct gf_carrier_out *message, struct gf_reason *why);

/* The receiver will never learn of it: the message is gone, unless it has ended already. */
void gf_carrier_send_withdraw(struct gf_carrier_lane *lane, struct gf_carrier_out *message);

/* Takes the first data->bytes bytes of a message that was sent, or is about to be. */
gf_status gf_carrier_receive(struct gf_carrier_lane *lane, uint64_t id, const struct gf_carrier_data *data,
                             struct gf_carrier_in *message, struct gf_reason *how);
gf_status gf_carrier_receive_poll(const struct gf_carrier_in *message, struct gf_reason *why);

/* In place of receive: nobody takes it; or, elsewhere, both go on by another way. */
void gf_carrier_refuse(struct gf_carrier_lane *lane, uint64_t id, bool elsewhere);

#endif
