/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Bcast.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

static struct gf_stage_call bcast(ompi_communicator_t *comm, void *buffer, gf_mpi_count count, ompi_datatype_t *type, int root)
{
    struct gf_layout none = gf_layout_none();
    struct gf_layout data = gf_layout_equal(1, (size_t)count, type);
    enum gf_role role = gf_role_of(root, comm);

    return gf_stage_call(NULL, none, buffer, role == GF_ROLE_ROOT ? data : none, role == GF_ROLE_OTHER ? data : none);
}

int gf_coll_bcast(void *buffer, gf_mpi_count count, ompi_datatype_t *type, int root, ompi_communicator_t *comm,
                  mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, buffer, buffer)) {
        call = bcast(comm, buffer, count, type, root);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_BCAST, root, "MPI_Bcast", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Bcast")) {
        call.result = saved->coll_bcast(call.recv.host, count, type, root, comm, saved->coll_bcast_module);
    }
    return gf_stage_end(&call);
}

static int start_ibcast(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ibcast(call->recv.host, ours->rcount, ours->rtype, ours->root, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_bcast(mca_coll_base_module_t *module, gf_mpi_count count, ompi_datatype_t *type, int root)
{
    return (struct gf_saved_call){.start = start_ibcast, .owner = gf_coll_saved(module)->coll_ibcast_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcount = count, .rtype = type, .root = root};
}

int gf_coll_ibcast(void *buffer, gf_mpi_count count, ompi_datatype_t *type, int root, ompi_communicator_t *comm,
                   ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_bcast(module, count, type, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, buffer, buffer)) {
        call = bcast(comm, buffer, count, type, root);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_BCAST, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ibcast", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ibcast")) {
        call.result = start_ibcast(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_bcast_init(void *buffer, gf_mpi_count count, ompi_datatype_t *type, int root, ompi_communicator_t *comm,
                       struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_bcast(module, count, type, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, buffer, buffer)) {
        call = bcast(comm, buffer, count, type, root);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_BCAST, &later, GF_NATIVE_PERSISTENT, "MPI_Bcast_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Bcast_init")) {
        call.result = saved->coll_bcast_init(call.recv.host, count, type, root, comm, info, request,
                                             saved->coll_bcast_init_module);
    }
    return gf_request_return(&call, request);
}
