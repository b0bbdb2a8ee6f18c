/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which blocks of a call go where: from its description for staging (stage.h), whose layouts have a part for each peer or one
 * for all, to an exchange of blocks (core/exchange.h).
 */
#ifndef GF_MCA_MAPPED_BLOCKS_H
#define GF_MCA_MAPPED_BLOCKS_H

#include "core/exchange.h"
#include "mca_coll_gpufifo/mapped.h"
#include "mca_coll_gpufifo/mapped_pack.h"

/* Fills the exchange, whatever was in it, but for its name; and, where data have gaps, the packing, which was zeroed: then packed
 * data are moved. The packing is to be released in any case. root: of a rooted kind. Null, or why this rank's part cannot be done
 * so. Both buffers are without an address where this rank gives nothing and takes nothing. comm: within one group, of at most
 * GF_MAX_RANKS. */
const char *gf_mapped_blocks(const struct gf_stage_call *stage, enum gf_exchange_kind kind, int root, ompi_communicator_t *comm,
                             struct gf_exchange *exchange, struct gf_mapped_packing *packing);

#endif
