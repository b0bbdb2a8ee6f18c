/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a host does while it waits for its kernels or for other hosts: the owner's progress, looking for an abort, and now and
 * then looking whether all peers of its node still live, and asking those of other nodes to which it is connected.
 */
#ifndef GF_CORE_WATCH_H
#define GF_CORE_WATCH_H

#include <stdint.h>

#include "core/abort.h"
#include "core/bootstrap.h"
#include "core/peers.h"

struct gf_ring;                    /* core/ring.h */

/* Owned by the communicator; one thread at a time. What it points to outlives it. */
struct gf_watch {
    struct gf_abort *abort;
    const struct gf_peers *peers;
    const struct gf_bootstrap *bootstrap;
    const struct gf_ring *ring;    /* whose connections are asked (gf_ring_ask); null: none are */
    uint32_t polls;
    uint64_t looked_ns;            /* monotonic time of the last look at the peers */
};

/* One turn of a wait, with the signature of gf_host_wait.poll; watch is a struct gf_watch. GF_OK: go on waiting. GF_ERR_PEER:
 * a process of the communicator is gone; all other ranks have been told. GF_ERR_ABORTED or whatever status a peer aborted
 * with. */
gf_status gf_watch_poll(void *watch, struct gf_reason *why);

/* The same without the owner's progress, for threads that are not the owner's. */
gf_status gf_watch_look(struct gf_watch *watch, struct gf_reason *why);

#endif
