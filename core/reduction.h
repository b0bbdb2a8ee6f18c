/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions over mapped buffers: reduce, reduce-scatter, scan and exclusive scan. Each rank has a contribution, all of the same
 * number of elements, and makes for itself what it needs of the result: some elements of it, of some of the contributions. Which,
 * is what distinguishes these operations.
 *
 * Each rank reduces the peers' contributions, which all have mapped, by one kernel, in the order of the ranks: the same bits as
 * reducing from left to right. Before that all have entered; none returns before all are done. Nothing waits on a device.
 *
 * A root makes the whole result alone. On one GPU that moves the least data; between GPUs ranks that make a share each, and store
 * it into the root's buffer, would load over more links at once. Which elements a rank makes a struct gf_reduce says, so it could
 * say that.
 */
#ifndef GF_CORE_REDUCTION_H
#define GF_CORE_REDUCTION_H

#include "base/types.h"
#include "core/mapped_call.h"

/* One rank's part. Filled by the caller, who keeps it until the call has ended. */
struct gf_reduce {
    const char *name;              /* for messages */
    uint64_t what[2];              /* which operation: must be equal on all ranks */
    enum gf_type type;             /* an allowed pair */
    enum gf_op op;
    struct gf_mapped_buffer send;   /* this rank's contribution, which others load; never empty */
    struct gf_mapped_buffer recv;   /* gets the elements that this rank makes; may be where they are made of, see `aside` */
    size_t first, count;           /* these elements of the contributions; count 0: it makes none, and has no recv */
    int inputs;                    /* of ranks 0 to inputs - 1; 0 where count is */
    void *aside;                   /* not null: recv lies where others load, so the elements are made here, in device memory, and
                                      copied when all have left */
};

/* Collective: begins a reduction, to be polled; errors as gf_comm_exchange. r stays where it is until the call has ended. */
gf_status gf_reduce_start(gf_comm *comm, const struct gf_reduce *r, struct gf_mapped_call *call, struct gf_reason *why);

#endif
