/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A one-shot allreduce that the host plays in a block's place, where kernels of the program fill the device and ours cannot
 * start: copies to and from the host get on beside them. Peers notice nothing: the same lines come to the same slots as from a
 * kernel, and what they send is read from where a kernel would poll. So it is each rank's own choice, in each call anew.
 *
 * It computes lines and results by the kernels' own code, on images of the slots. Two things a kernel has and a copy does not
 * promise, which is that eight bytes of a line are stored at once and loaded at once. So the data of the lines go first, with a
 * flag that nobody waits for, and the same data with their flags when that copy has ended: whatever a peer sees of the second
 * copy, the data beside it are right. And lines that have come are fetched once more: what a copy has seen of a line that was
 * stored at once is all there for the next one.
 */
#ifndef GF_CORE_PLAYED_H
#define GF_CORE_PLAYED_H

#include "core/connect.h"
#include "core/host_executor.h"
#include "kernels/work.h"

/* Owned by the one-shot connections; one thread at a time. */
struct gf_played {
    gf_device *device;
    gf_stream *stream;             /* the communicator's */
    size_t slot_bytes;             /* as in struct gf_one_shot_work */
    char *images;                  /* pinned; null: none */
};

/* Allocates the images now, since the driver may wait for the device when it pins memory. */
gf_status gf_played_create(struct gf_played *played, gf_device *device, gf_stream *stream, size_t slot_bytes, int ranks,
                           struct gf_reason *why);
/* Idempotent; zeros are allowed. */
void gf_played_destroy(struct gf_played *played);

/* One operation. */
struct gf_played_call {
    const struct gf_pattern *pattern;
    const void *send;              /* user addresses */
    void *recv;
    uint64_t count;                /* of one piece */
    enum gf_type type;
    enum gf_op op;
    uint32_t epoch;
    uint32_t blocks;               /* of a launch that would do the same */
    uint64_t deadline_ns;          /* of the wait for the peers; 0: none */
    const struct gf_host_wait *wait;
};

/* Errors: GF_ERR_TIMEOUT, GF_ERR_DEVICE, or what the call's wait says; nothing uses the buffers then. */
gf_status gf_played_allreduce(struct gf_played *played, const struct gf_played_call *call, struct gf_reason *why);

#endif
