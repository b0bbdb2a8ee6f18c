/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ring allreduce: the host side of GF_KERNEL_ALLREDUCE_RING and its kin. FIFOs to the next rank of the ring (gf_peers.ring) and
 * from the one before, a channel a block.
 */
#ifndef GF_CORE_RING_H
#define GF_CORE_RING_H

#include "core/connect.h"
#include "core/execute.h"
#include "core/mapped.h"
#include "core/plan.h"

/* Which bytes the steps of a launch carry. */
struct gf_ring_shape {
    uint64_t place, ranks;         /* this rank's place in the ring */
    uint64_t total, share, part;   /* bytes of the data, of a rank's share, and of a channel's part of that */
    uint64_t most;                 /* of a step */
    uint64_t channels;             /* that have a part */
};

/* Owned by the communicator. */
struct gf_ring {
    struct gf_pattern pattern;
    gf_device *device;
    int channels;
    int place, next, previous;     /* this rank's place in the ring; who follows, who comes before */
    void *conns;                   /* device memory: struct gf_conn send[channels], recv[channels] */
    struct gf_ring_shape shape;    /* of the last launch */
};

/* One call. data has kernel addresses. */
struct gf_ring_call {
    struct gf_reduction data;
    void *recv;                    /* user address of data.recv */
    const struct gf_pointer *recv_where;   /* what gf_driver_pointer says of it; null: not asked yet */
    const struct gf_mapped *mapped;        /* all ranks have entered it with these buffers: straight from buffer to buffer, in the
                                              direction that the slots have; null: by slots */
};

/* Collective, the same result on all ranks; after an error nothing is left behind. */
gf_status gf_ring_connect(struct gf_ring *ring, int channels, const struct gf_connect_setup *setup, struct gf_reason *why);

/* Collective. plan->blocks is at most the channels connected. Where both ends of a link agree, what the allgather moves over it
 * goes from receive buffer to receive buffer. */
gf_status gf_ring_allreduce(struct gf_ring *ring, const struct gf_plan *plan, const struct gf_ring_call *call,
                            struct gf_execution *e, struct gf_reason *why);

/* After a call that failed, and the abort that this led to: the buffers are the program's again, and the connections of no use
 * any more. Takes about a second at most. Zeros are allowed. */
void gf_ring_give_up(struct gf_ring *ring);

/* Bytes of the data that the k-th step of a launch carries on a channel, as the sender numbers its steps: each slotful of shares
 * has 2 · ranks - 2 of them. */
struct gf_span gf_ring_span(const struct gf_ring_shape *shape, int channel, uint64_t k);

/* Waits until the next rank has taken all that was sent, since it tells so in memory of ours, and may read there. Returns early
 * if the communicator aborts or a peer is gone. Zeros are allowed. */
void gf_ring_drain(struct gf_ring *ring, struct gf_execution *e);

/* Somebody waits for the others: finds out, as gf_transport.ask does, whether both neighbours are still there. Never waits; zeros
 * are allowed. */
void gf_ring_ask(const struct gf_ring *ring);

/* Idempotent; zeros are allowed. */
void gf_ring_destroy(struct gf_ring *ring);

#endif
