/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared host memory of the host-sequenced executor, and the counters by which the hosts follow one another.
 *
 * Each rank has a segment: a line of counters, two slots for its input and two for a result. Pieces of messages are numbered
 * from 0 for the life of the communicator; piece n uses slot n % 2. Counters are written by their rank only and only grow:
 *
 *   arrived = n + 1    the rank's input of piece n is in its slot, so peers may reduce it; and its copies of the result of
 *                      piece n - 2 are done, so that result may be overwritten
 *   reduced = n + 1    the rank has read all inputs of piece n, so those may be overwritten; and its share of the result is on
 *                      the board, so that may be copied out
 *
 * The board is the result slots of rank 0: ranks that share the work of a piece write their shares there.
 */
#ifndef GF_PROXY_HOST_MEMORY_H
#define GF_PROXY_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bootstrap.h"
#include "core/config.h"
#include "core/segment.h"
#include "device/device.h"

struct gf_host_counters {
    uint64_t arrived, reduced;
};

/* Owned by the executor's state. */
struct gf_host_slots {
    gf_device *device;
    int rank, ranks;
    size_t piece_bytes;                /* of a slot, a multiple of GF_LINE */
    struct gf_segment *segments;       /* [ranks] */
    bool own_registered, board_registered;
};

/* Collective; the same result on all ranks. GF_ERR_UNSUPPORTED: some rank has no shared memory or cannot attach or register
 * it. */
gf_status gf_host_slots_open(struct gf_host_slots *m, const struct gf_config *config, const struct gf_bootstrap *bootstrap,
                              gf_device *device, struct gf_reason *why);
/* Idempotent. No copy may be under way. */
void gf_host_slots_close(struct gf_host_slots *m);

/* Of a rank in the shared memory, as long as it is open: its counters, and its slots for piece number `piece`. */
struct gf_host_counters *gf_host_slots_counters(const struct gf_host_slots *m, int rank);
char *gf_host_slots_input(const struct gf_host_slots *m, int rank, uint64_t piece);
char *gf_host_slots_result(const struct gf_host_slots *m, int rank, uint64_t piece);

#endif
