/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges of blocks (core/exchange.h) whose ranks are on several nodes: by messages (messages.h). What each rank has for each
 * goes straight there, some pairs at a time; what is the same for all ranks crosses to each other node once (spread.h).
 */
#ifndef GF_MCA_BETWEEN_EXCHANGE_H
#define GF_MCA_BETWEEN_EXCHANGE_H

#include "core/exchange.h"
#include "mca_coll_gpufifo/mapped.h"

/* Most bytes that this rank gives to, or takes from, another one; 0: it has no data for others. */
size_t gf_between_block(const struct gf_exchange *x, ompi_communicator_t *comm);

struct gf_device_piece;                /* device_memory.h */
struct gf_stage_pool;                  /* stage_pool.h */

/* Of an exchange in place: what this rank sends, out of the way of what it receives. Zeroed by the caller before prepare; ended
 * by release in any case. */
struct gf_between_aside {
    struct gf_stage_pool *pool;
    struct gf_device_piece *piece;     /* null: it is not in place */
};

/* Before the ranks agree: the memory for that. Null, or why it cannot be had. */
const char *gf_between_exchange_prepare(struct gf_between_aside *aside, const struct gf_exchange *x);

/* Collective, all ranks having entered with device buffers: returns when this rank's buffers are the program's again, and no
 * message is under way. root: of a rooted kind. result: an error of this rank that was reported, or MPI_SUCCESS; in either case
 * it takes part (messages.h). Returns the first error, which was reported. x is used up. */
int gf_between_exchange(mca_coll_gpufifo_module_t *module, enum gf_exchange_kind kind, int root, const char *function,
                        struct gf_exchange *x, const struct gf_between_aside *aside, int result);

void gf_between_exchange_release(struct gf_between_aside *aside);

#endif
