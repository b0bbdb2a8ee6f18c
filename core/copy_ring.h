/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A few copies at a time whose ends are told one by one, in the order in which they were started. Each place has a stream of its
 * own, if the device has memory for so many, since of a stream one sees only that all of it has ended.
 *
 * Threads: one at a time.
 */
#ifndef GF_CORE_COPY_RING_H
#define GF_CORE_COPY_RING_H

#include <stdbool.h>

#include "device/device.h"

enum { GF_COPY_RING = 4 };             /* one runs, the others wait for it: a host that looks late does not let the engine idle */

/* Owned by whoever created it. */
struct gf_copy_ring {
    gf_device *device;
    gf_stream *streams[GF_COPY_RING];
    gf_stream *shared;                 /* the caller's */
    void *owners[GF_COPY_RING];
    unsigned started, ended;           /* copies so far */
};

/* Makes the streams. Those for which the device has no memory are another one's, the first one then `shared`, the caller's, which
 * outlives the ring; ends are told later so. shared: null where the first one must be its own. On failure it has none. */
gf_status gf_copy_ring_create(gf_device *device, gf_stream *shared, struct gf_copy_ring *ring, struct gf_reason *why);

/* Waits for what is under way. Accepts a zeroed one. */
void gf_copy_ring_destroy(struct gf_copy_ring *ring);

static inline bool gf_copy_ring_full(const struct gf_copy_ring *ring) { return ring->started - ring->ended == GF_COPY_RING; }

/* The ring is not full. An error: nothing was started. owner: not null, comes back with the end. */
gf_status gf_copy_ring_start(struct gf_copy_ring *ring, void *to, const void *from, size_t bytes, void *owner);

/* The end of the oldest one: true, with its owner and GF_OK or the error. False: it runs, or there is none. */
bool gf_copy_ring_next(struct gf_copy_ring *ring, void **owner, gf_status *status);

#endif
