/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Scatter and MPI_Scatterv.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

/* parts: of the send buffer, which only the root has. In place, the root's own part stays there. */
static struct gf_stage_call describe(ompi_communicator_t *comm, int root, const void *sbuf, struct gf_layout parts,
                                     void *rbuf, gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    struct gf_layout none = gf_layout_none();
    bool receives = !gf_is_in_place(rbuf);
    enum gf_role role = gf_role_of(root, comm);

    /* The root of an intercommunicator receives nothing. */
    if (role == GF_ROLE_IDLE || (role == GF_ROLE_ROOT && OMPI_COMM_IS_INTER(comm))) {
        receives = false;
    }
    return gf_stage_call(sbuf, role == GF_ROLE_ROOT ? parts : none,
                         rbuf, none, receives ? gf_layout_equal(1, (size_t)rcount, rdtype) : none);
}

static struct gf_stage_call scatter(ompi_communicator_t *comm, int root, const void *sbuf, gf_mpi_count scount,
                                    ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    return describe(comm, root, sbuf, gf_layout_equal(gf_peers_all(comm).to, (size_t)scount, sdtype), rbuf, rcount, rdtype);
}

int gf_coll_scatter(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                    ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scatter(comm, root, sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_SCATTER, root, "MPI_Scatter", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Scatter")) {
        call.result = saved->coll_scatter(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, root, comm,
                                          saved->coll_scatter_module);
    }
    return gf_stage_end(&call);
}

static int start_iscatter(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iscatter(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcount, ours->rtype,
                                ours->root, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_scatter(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                          gf_mpi_count rcount, ompi_datatype_t *rdtype, int root)
{
    return (struct gf_saved_call){.start = start_iscatter, .owner = gf_coll_saved(module)->coll_iscatter_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcount = rcount, .rtype = rdtype, .root = root};
}

int gf_coll_iscatter(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                     ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_scatter(module, scount, sdtype, rcount, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scatter(comm, root, sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_SCATTER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iscatter", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iscatter")) {
        call.result = start_iscatter(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_scatter_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                         ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, struct ompi_info_t *info,
                         ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_scatter(module, scount, sdtype, rcount, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scatter(comm, root, sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_SCATTER, &later, GF_NATIVE_PERSISTENT, "MPI_Scatter_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Scatter_init")) {
        call.result = saved->coll_scatter_init(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, root, comm, info,
                                               request, saved->coll_scatter_init_module);
    }
    return gf_request_return(&call, request);
}

static struct gf_stage_call scatterv(ompi_communicator_t *comm, int root, const void *sbuf, gf_mpi_counts scounts,
                                     gf_mpi_displs displs, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                                     ompi_datatype_t *rdtype)
{
    return describe(comm, root, sbuf, gf_layout_v(gf_peers_all(comm).to, scounts, displs, sdtype), rbuf, rcount, rdtype);
}

int gf_coll_scatterv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs displs, ompi_datatype_t *sdtype, void *rbuf,
                     gf_mpi_count rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                     mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scatterv(comm, root, sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_SCATTER, root, "MPI_Scatterv", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Scatterv")) {
        call.result = saved->coll_scatterv(call.send.host, scounts, displs, sdtype, call.recv.host, rcount, rdtype, root, comm,
                                           saved->coll_scatterv_module);
    }
    return gf_stage_end(&call);
}

static int start_iscatterv(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iscatterv(call->send.host, ours->scounts, ours->sdispls, ours->stype, call->recv.host, ours->rcount,
                                 ours->rtype, ours->root, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_scatterv(mca_coll_base_module_t *module, gf_mpi_counts scounts, gf_mpi_displs displs,
                                           ompi_datatype_t *sdtype, gf_mpi_count rcount, ompi_datatype_t *rdtype, int root)
{
    return (struct gf_saved_call){.start = start_iscatterv, .owner = gf_coll_saved(module)->coll_iscatterv_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scounts = scounts, .sdispls = displs,
                                  .stype = sdtype, .rcount = rcount, .rtype = rdtype, .root = root};
}

int gf_coll_iscatterv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs displs, ompi_datatype_t *sdtype, void *rbuf,
                      gf_mpi_count rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                      mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_scatterv(module, scounts, displs, sdtype, rcount, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scatterv(comm, root, sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_SCATTER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iscatterv", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iscatterv")) {
        call.result = start_iscatterv(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_scatterv_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs displs, ompi_datatype_t *sdtype, void *rbuf,
                          gf_mpi_count rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                          struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_scatterv(module, scounts, displs, sdtype, rcount, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scatterv(comm, root, sbuf, scounts, displs, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_SCATTER, &later, GF_NATIVE_PERSISTENT, "MPI_Scatterv_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Scatterv_init")) {
        call.result = saved->coll_scatterv_init(call.send.host, scounts, displs, sdtype, call.recv.host, rcount, rdtype, root,
                                                comm, info, request, saved->coll_scatterv_init_module);
    }
    return gf_request_return(&call, request);
}
