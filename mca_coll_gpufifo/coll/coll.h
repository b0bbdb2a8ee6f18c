/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives this component installs, and their functions: gf_coll_<slot> stands in the module's slot coll_<slot> and
 * has that slot's signature, whichever Open MPI this is built for.
 *
 * All but the blocking allreduce work by staging (stage.h), where coll_gpufifo_mapped asks for nothing else (native.h): host-only
 * calls go straight to the saved component. A slot that the saved component leaves empty must stay empty, for there is nothing to
 * stage to. Barrier has no buffer: not installed.
 */
#ifndef GF_MCA_COLL_H
#define GF_MCA_COLL_H

#include "mca_coll_gpufifo/module.h"

/* SLOT(name) for each slot that the module fills. */
#define GF_COLL_SLOTS(SLOT) \
    SLOT(allgather) SLOT(allgatherv) SLOT(allreduce) SLOT(alltoall) SLOT(alltoallv) SLOT(alltoallw) SLOT(bcast) SLOT(exscan) \
    SLOT(gather) SLOT(gatherv) SLOT(reduce) SLOT(reduce_scatter) SLOT(reduce_scatter_block) SLOT(scan) SLOT(scatter) \
    SLOT(scatterv) \
    SLOT(iallgather) SLOT(iallgatherv) SLOT(iallreduce) SLOT(ialltoall) SLOT(ialltoallv) SLOT(ialltoallw) SLOT(ibcast) \
    SLOT(iexscan) SLOT(igather) SLOT(igatherv) SLOT(ireduce) SLOT(ireduce_scatter) SLOT(ireduce_scatter_block) SLOT(iscan) \
    SLOT(iscatter) SLOT(iscatterv) \
    SLOT(allgather_init) SLOT(allgatherv_init) SLOT(allreduce_init) SLOT(alltoall_init) SLOT(alltoallv_init) \
    SLOT(alltoallw_init) SLOT(bcast_init) SLOT(exscan_init) SLOT(gather_init) SLOT(gatherv_init) SLOT(reduce_init) \
    SLOT(reduce_scatter_init) SLOT(reduce_scatter_block_init) SLOT(scan_init) SLOT(scatter_init) SLOT(scatterv_init) \
    SLOT(neighbor_allgather) SLOT(neighbor_allgatherv) SLOT(neighbor_alltoall) SLOT(neighbor_alltoallv) \
    SLOT(neighbor_alltoallw) \
    SLOT(ineighbor_allgather) SLOT(ineighbor_allgatherv) SLOT(ineighbor_alltoall) SLOT(ineighbor_alltoallv) \
    SLOT(ineighbor_alltoallw) \
    SLOT(neighbor_allgather_init) SLOT(neighbor_allgatherv_init) SLOT(neighbor_alltoall_init) \
    SLOT(neighbor_alltoallv_init) SLOT(neighbor_alltoallw_init) \
    SLOT(reduce_local)

/* The type of the function that belongs into a slot. */
#define GF_COLL_FUNCTION(slot) __typeof__(*((mca_coll_base_module_t *)0)->coll_##slot)

#define GF_COLL_DECLARE(slot) GF_COLL_FUNCTION(slot) gf_coll_##slot;
GF_COLL_SLOTS(GF_COLL_DECLARE)
#undef GF_COLL_DECLARE

/* Blocking allreduce through host memory and the saved component, for what the native path (coll/allreduce.c) leaves over;
 * host buffers go straight to the saved component. */
GF_COLL_FUNCTION(allreduce) gf_stage_allreduce;

/* Who had each collective before this module. */
static inline const mca_coll_base_comm_coll_t *gf_coll_saved(const mca_coll_base_module_t *module)
{
    return &((const mca_coll_gpufifo_module_t *)module)->saved;
}

#endif
