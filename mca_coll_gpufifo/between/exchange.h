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

/* Collective, all ranks having entered with device buffers: returns when this rank's buffers are the program's again. root: of a
 * rooted kind. MPI_SUCCESS, or an error of MPI that was reported; then others of the ranks may wait in it for ever, as in a call
 * of MPI that one rank cannot make. x is used up. */
int gf_between_exchange(mca_coll_gpufifo_module_t *module, enum gf_exchange_kind kind, int root, const char *function,
                        struct gf_exchange *x);

#endif
