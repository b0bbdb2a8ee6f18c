/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting copies in turn on a few streams.
 */
#include "core/copy_ring.h"

gf_status gf_copy_ring_create(gf_device *device, gf_stream *shared, struct gf_copy_ring *ring, struct gf_reason *why)
{
    gf_stream *last = shared;

    *ring = (struct gf_copy_ring){ .device = device, .shared = shared };
    for (int i = 0; i < GF_COPY_RING; i++) {
        gf_status status = gf_device_stream_create(device, &ring->streams[i], why);

        if (status != GF_OK) {
            ring->streams[i] = NULL;
            if (status != GF_ERR_NO_MEMORY || !last) {
                gf_copy_ring_destroy(ring);
                return status;
            }
            ring->streams[i] = last;
        }
        last = ring->streams[i];
    }
    return GF_OK;
}

void gf_copy_ring_destroy(struct gf_copy_ring *ring)
{
    for (int i = GF_COPY_RING - 1; i >= 0; i--) {
        if (ring->streams[i] && ring->streams[i] != (i > 0 ? ring->streams[i - 1] : ring->shared)) {
            gf_device_stream_destroy(ring->device, ring->streams[i]);
        }
        ring->streams[i] = NULL;
    }
}

gf_status gf_copy_ring_start(struct gf_copy_ring *ring, void *to, const void *from, size_t bytes, void *owner)
{
    unsigned place = ring->started % GF_COPY_RING;
    gf_status status = gf_device_copy(ring->device, ring->streams[place], to, from, bytes);

    if (status == GF_OK) {
        ring->owners[place] = owner;
        ring->started++;
    }
    return status;
}

bool gf_copy_ring_next(struct gf_copy_ring *ring, void **owner, gf_status *status)
{
    unsigned place = ring->ended % GF_COPY_RING;

    if (ring->ended == ring->started) {
        return false;
    }
    *status = gf_device_stream_query(ring->device, ring->streams[place]);
    if (*status == GF_IN_PROGRESS) {
        return false;
    }
    *owner = ring->owners[place];
    ring->ended++;
    return true;
}
