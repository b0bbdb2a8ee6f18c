/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Gather and MPI_Gatherv.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

/* parts: of the receive buffer, which only the root has. In place, the root's own part is where it belongs. */
static struct gf_stage_call describe(ompi_communicator_t *comm, int root, const void *sbuf, gf_mpi_count scount,
                                     ompi_datatype_t *sdtype, void *rbuf, struct gf_layout parts)
{
    struct gf_layout none = gf_layout_none();
    bool in_place = gf_is_in_place(sbuf);

    switch (gf_role_of(root, comm)) {
    case GF_ROLE_IDLE:
        return gf_stage_call(sbuf, none, rbuf, none, none);
    case GF_ROLE_OTHER:
        return gf_stage_call(sbuf, gf_layout_equal(1, (size_t)scount, sdtype), rbuf, none, none);
    case GF_ROLE_ROOT:
        break;
    }
    if (in_place) {
        return gf_stage_call(sbuf, none, rbuf, gf_layout_only(parts, root), parts);
    }
    /* The root of an intercommunicator sends nothing. */
    return gf_stage_call(sbuf, OMPI_COMM_IS_INTER(comm) ? none : gf_layout_equal(1, (size_t)scount, sdtype), rbuf, none, parts);
}

static struct gf_stage_call gather(ompi_communicator_t *comm, int root, const void *sbuf, gf_mpi_count scount,
                                   ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    return describe(comm, root, sbuf, scount, sdtype, rbuf, gf_layout_equal(gf_peers_all(comm).from, (size_t)rcount, rdtype));
}

int gf_coll_gather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                   ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gather(comm, root, sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_GATHER, root, "MPI_Gather", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Gather")) {
        call.result = saved->coll_gather(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, root, comm,
                                         saved->coll_gather_module);
    }
    return gf_stage_end(&call);
}

static int start_igather(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_igather(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcount, ours->rtype, ours->root,
                               gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_gather(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                         gf_mpi_count rcount, ompi_datatype_t *rdtype, int root)
{
    return (struct gf_saved_call){.start = start_igather, .owner = gf_coll_saved(module)->coll_igather_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcount = rcount, .rtype = rdtype, .root = root};
}

int gf_coll_igather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                    ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                    mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_gather(module, scount, sdtype, rcount, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gather(comm, root, sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_GATHER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Igather", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Igather")) {
        call.result = start_igather(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_gather_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                        ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, struct ompi_info_t *info,
                        ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_gather(module, scount, sdtype, rcount, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gather(comm, root, sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_GATHER, &later, GF_NATIVE_PERSISTENT, "MPI_Gather_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Gather_init")) {
        call.result = saved->coll_gather_init(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, root, comm, info,
                                              request, saved->coll_gather_init_module);
    }
    return gf_request_return(&call, request);
}

static struct gf_stage_call gatherv(ompi_communicator_t *comm, int root, const void *sbuf, gf_mpi_count scount,
                                    ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs displs,
                                    ompi_datatype_t *rdtype)
{
    return describe(comm, root, sbuf, scount, sdtype, rbuf, gf_layout_v(gf_peers_all(comm).from, rcounts, displs, rdtype));
}

int gf_coll_gatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                    gf_mpi_displs displs, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gatherv(comm, root, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_GATHER, root, "MPI_Gatherv", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Gatherv")) {
        call.result = saved->coll_gatherv(call.send.host, scount, sdtype, call.recv.host, rcounts, displs, rdtype, root, comm,
                                          saved->coll_gatherv_module);
    }
    return gf_stage_end(&call);
}

static int start_igatherv(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_igatherv(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcounts, ours->rdispls,
                                ours->rtype, ours->root, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_gatherv(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                          gf_mpi_counts rcounts, gf_mpi_displs displs, ompi_datatype_t *rdtype, int root)
{
    return (struct gf_saved_call){.start = start_igatherv, .owner = gf_coll_saved(module)->coll_igatherv_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcounts = rcounts, .rdispls = displs, .rtype = rdtype, .root = root};
}

int gf_coll_igatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                     gf_mpi_displs displs, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_gatherv(module, scount, sdtype, rcounts, displs, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gatherv(comm, root, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_GATHER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Igatherv", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Igatherv")) {
        call.result = start_igatherv(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_gatherv_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                         gf_mpi_displs displs, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                         struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_gatherv(module, scount, sdtype, rcounts, displs, rdtype, root);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gatherv(comm, root, sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_GATHER, &later, GF_NATIVE_PERSISTENT, "MPI_Gatherv_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Gatherv_init")) {
        call.result = saved->coll_gatherv_init(call.send.host, scount, sdtype, call.recv.host, rcounts, displs, rdtype, root,
                                               comm, info, request, saved->coll_gatherv_init_module);
    }
    return gf_request_return(&call, request);
}
