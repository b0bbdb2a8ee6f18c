/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges of blocks: alltoall, allgather, broadcast and their kin. Each rank has a block for each, in one buffer, and has room
 * for one of each, in another; where they lie and how long they are is what distinguishes these operations.
 *
 * Each rank fetches its blocks from the peers' send buffers, which all have mapped, by one kernel or by copies. Before that all
 * have entered; none returns before all are done, for till then its buffer is read. Nothing waits on a device.
 * In place, a rank's blocks for its peers lie where it gets theirs: each pair of ranks swaps, half of the bytes by either.
 */
#ifndef GF_CORE_EXCHANGE_H
#define GF_CORE_EXCHANGE_H

#include "core/mapped_call.h"

/* One rank's part. Filled by the caller, who keeps it until the exchange has ended. */
struct gf_exchange {
    const char *name;              /* for messages */
    uint64_t what[2];              /* which operation: must be equal on all ranks */
    bool in_place;                 /* the same on all ranks: give and take are the same blocks of one buffer */
    struct gf_mapped_buffer send, recv;
    struct gf_registry_block give[GF_MAX_RANKS];     /* for each rank, in send; no bytes: none */
    struct gf_registry_block take[GF_MAX_RANKS];     /* from each rank, in recv */
};

/* Collective: plans, connects and enters; then gf_mapped_call_poll or gf_mapped_call_finish. Waits only in the first exchange of
 * the communicator, for what all ranks connect. x and call stay where they are until the end. Errors as gf_comm_exchange. */
gf_status gf_exchange_start(gf_comm *comm, const struct gf_exchange *x, struct gf_mapped_call *call, struct gf_reason *why);

#endif
