/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the program that the wire knows, so that it moves their data without a copy. One table a net.
 *
 * To register memory takes long, so whole allocations are registered, and stay so. One is known by its buffer id, which no later
 * allocation has (as in core/registry.h): each use asks for the id of the memory that it is about, so what was freed and
 * allocated again is never taken for what it was. Freed memory goes back at the next look: one with each use of the table, and
 * now and then. Room for another is made where nothing is in use, by that which was not for the longest time. What the wire
 * refuses is remembered, too.
 *
 * Threads: any. A buffer that is in use does not change; registering is done under the lock.
 */
#ifndef GF_TRANSPORT_NET_BUFFERS_H
#define GF_TRANSPORT_NET_BUFFERS_H

#include <pthread.h>

#include "core/fault.h"
#include "transport/net.h"

enum { GF_NET_BUFFERS = 64 };      /* allocations that are known */

/* Owned by the table; who uses it has counted itself. */
struct gf_net_buffer {
    struct gf_wire_memory wire;    /* of the whole allocation */
    uint64_t id;                   /* 0: the entry is free */
    const void *base;              /* user address */
    bool refused;                  /* the wire does not know it; why says why */
    struct gf_reason why;
    bool spoilt;                   /* a use of it failed */
    uint32_t uses;
    uint64_t used;                 /* the table's turn when its last use began */
};

/* The contents are the table's own. */
struct gf_net_buffers {
    struct gf_net *net;
    pthread_mutex_t lock;          /* guards what follows */
    uint64_t turn;
    struct gf_net_buffer of[GF_NET_BUFFERS];
};

void gf_net_buffers_init(struct gf_net_buffers *buffers, struct gf_net *net);

/* Nothing is in use. Before the wire is closed. */
void gf_net_buffers_close(struct gf_net_buffers *buffers);

/* Device memory of the program. */
struct gf_net_range {
    const void *address;               /* user address */
    size_t bytes;
    const struct gf_pointer *where;    /* what gf_driver_pointer says of it; null: not asked yet */
};

/* One more use of the allocation that it lies in. fault: for the registration; may be null. GF_ERR_UNSUPPORTED: the wire refuses
 * it. GF_NO_RESOURCE: it lies in no single allocation, or all entries are in use: it may still be registered by itself. */
gf_status gf_net_buffers_get(struct gf_net_buffers *buffers, struct gf_fault *fault, const struct gf_net_range *range,
                             struct gf_net_buffer **buffer, struct gf_reason *why);

/* One use less. Accepts null. failed: it is forgotten with its last use, so that what a peer put late finds nothing there. */
void gf_net_buffers_put(struct gf_net_buffers *buffers, struct gf_net_buffer *buffer, bool failed);

/* How many are known, or used by somebody. For tests. */
int gf_net_buffers_count(struct gf_net_buffers *buffers, bool used);

/* Forgets those that nobody uses and whose memory has been freed. */
void gf_net_buffers_look(struct gf_net_buffers *buffers);

#endif
