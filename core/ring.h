/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ring allreduce: the host side of GF_KERNEL_ALLREDUCE_RING. FIFOs to the next rank of the ring (gf_peers.ring) and from the one
 * before, a channel a block.
 */
#ifndef GF_CORE_RING_H
#define GF_CORE_RING_H

#include "core/connect.h"
#include "core/execute.h"
#include "core/plan.h"

/* Owned by the communicator. */
struct gf_ring {
    struct gf_pattern pattern;
    gf_device *device;
    int channels;
    int place, next, previous;     /* this rank's place in the ring; who follows, who comes before */
    void *conns;                   /* device memory: struct gf_conn send[channels], recv[channels] */
};

/* Collective, the same result on all ranks; after an error nothing is left behind. */
gf_status gf_ring_connect(struct gf_ring *ring, int channels, const struct gf_connect_setup *setup, struct gf_reason *why);

/* Collective. data has kernel addresses; plan->blocks is at most the channels connected. */
gf_status gf_ring_allreduce(struct gf_ring *ring, const struct gf_plan *plan, const struct gf_reduction *data,
                            struct gf_execution *e, struct gf_reason *why);

/* Waits until the next rank has taken all that was sent, since it tells so in memory of ours, and may read there. Returns early
 * if the communicator aborts or a peer is gone. Zeros are allowed. */
void gf_ring_drain(struct gf_ring *ring, struct gf_execution *e);

/* Somebody waits for the others: finds out, as gf_transport.ask does, whether both neighbours are still there. Never waits; zeros
 * are allowed. */
void gf_ring_ask(const struct gf_ring *ring);

/* Idempotent; zeros are allowed. */
void gf_ring_destroy(struct gf_ring *ring);

#endif
