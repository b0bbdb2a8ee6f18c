/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce_local.
 */
#include "mca_coll_gpufifo/coll/describe.h"

/* Not a collective: Open MPI calls it on MPI_COMM_SELF. */
int gf_coll_reduce_local(const void *inbuf, void *inoutbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                         mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_layout data = gf_layout_equal(1, (size_t)count, type);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, inbuf, inoutbuf)) {
        call = gf_stage_call(inbuf, data, inoutbuf, data, data);
    }
    if (gf_stage_begin(&call, ((const mca_coll_gpufifo_module_t *)module)->comm, "MPI_Reduce_local")) {
        call.result = saved->coll_reduce_local(call.send.host, call.recv.host, count, type, op, saved->coll_reduce_local_module);
    }
    return gf_stage_end(&call);
}
