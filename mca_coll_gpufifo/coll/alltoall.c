/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

int gf_coll_alltoall(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                     ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_ALLTOALL, 0, "MPI_Alltoall", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Alltoall")) {
        call.result = saved->coll_alltoall(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                           saved->coll_alltoall_module);
    }
    return gf_stage_end(&call);
}

static int start_ialltoall(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ialltoall(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcount, ours->rtype,
                                 gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_alltoall(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                           gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_ialltoall, .owner = gf_coll_saved(module)->coll_ialltoall_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcount = rcount, .rtype = rdtype};
}

int gf_coll_ialltoall(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                      ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                      mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_alltoall(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLTOALL, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ialltoall", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ialltoall")) {
        call.result = start_ialltoall(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_alltoall_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                          ompi_datatype_t *rdtype, ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                          mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_alltoall(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLTOALL, &later, GF_NATIVE_PERSISTENT, "MPI_Alltoall_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Alltoall_init")) {
        call.result = saved->coll_alltoall_init(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm, info,
                                                request, saved->coll_alltoall_init_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_alltoallv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype, void *rbuf,
                      gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                      mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(gf_peers_all(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_ALLTOALL, 0, "MPI_Alltoallv", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Alltoallv")) {
        call.result = saved->coll_alltoallv(call.send.host, scounts, sdispls, sdtype, call.recv.host, rcounts, rdispls, rdtype,
                                            comm, saved->coll_alltoallv_module);
    }
    return gf_stage_end(&call);
}

static int start_ialltoallv(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ialltoallv(call->send.host, ours->scounts, ours->sdispls, ours->stype, call->recv.host, ours->rcounts,
                                  ours->rdispls, ours->rtype, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_alltoallv(mca_coll_base_module_t *module, gf_mpi_counts scounts, gf_mpi_displs sdispls,
                                            ompi_datatype_t *sdtype, gf_mpi_counts rcounts, gf_mpi_displs rdispls,
                                            ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_ialltoallv, .owner = gf_coll_saved(module)->coll_ialltoallv_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scounts = scounts, .sdispls = sdispls,
                                  .stype = sdtype, .rcounts = rcounts, .rdispls = rdispls, .rtype = rdtype};
}

int gf_coll_ialltoallv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype, void *rbuf,
                       gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                       ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_alltoallv(module, scounts, sdispls, sdtype, rcounts, rdispls, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(gf_peers_all(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLTOALL, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ialltoallv", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ialltoallv")) {
        call.result = start_ialltoallv(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_alltoallv_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype, void *rbuf,
                           gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                           struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_alltoallv(module, scounts, sdispls, sdtype, rcounts, rdispls, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(gf_peers_all(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLTOALL, &later, GF_NATIVE_PERSISTENT, "MPI_Alltoallv_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Alltoallv_init")) {
        call.result = saved->coll_alltoallv_init(call.send.host, scounts, sdispls, sdtype, call.recv.host, rcounts, rdispls,
                                                 rdtype, comm, info, request, saved->coll_alltoallv_init_module);
    }
    return gf_request_return(&call, request);
}

static struct gf_stage_call alltoallw(ompi_communicator_t *comm, const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls,
                                      ompi_datatype_t *const *sdtypes, void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls,
                                      ompi_datatype_t *const *rdtypes)
{
    struct gf_peers peers = gf_peers_all(comm);

    return gf_describe_alltoall(peers, sbuf, gf_layout_w(peers.to, scounts, sdispls, sdtypes),
                                rbuf, gf_layout_w(peers.from, rcounts, rdispls, rdtypes));
}

int gf_coll_alltoallw(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *const *sdtypes, void *rbuf,
                      gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                      mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_ALLTOALL, 0, "MPI_Alltoallw", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Alltoallw")) {
        call.result = saved->coll_alltoallw(call.send.host, scounts, sdispls, sdtypes, call.recv.host, rcounts, rdispls, rdtypes,
                                            comm, saved->coll_alltoallw_module);
    }
    return gf_stage_end(&call);
}

static int start_ialltoallw(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ialltoallw(call->send.host, ours->scounts, ours->sdispls, ours->stypes, call->recv.host, ours->rcounts,
                                  ours->rdispls, ours->rtypes, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_alltoallw(mca_coll_base_module_t *module, gf_mpi_counts scounts, gf_mpi_displs sdispls,
                                            ompi_datatype_t *const *sdtypes, gf_mpi_counts rcounts, gf_mpi_displs rdispls,
                                            ompi_datatype_t *const *rdtypes)
{
    return (struct gf_saved_call){.start = start_ialltoallw, .owner = gf_coll_saved(module)->coll_ialltoallw_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scounts = scounts, .sdispls = sdispls,
                                  .stypes = sdtypes, .rcounts = rcounts, .rdispls = rdispls, .rtypes = rdtypes};
}

int gf_coll_ialltoallw(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *const *sdtypes,
                       void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *const *rdtypes,
                       ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_alltoallw(module, scounts, sdispls, sdtypes, rcounts, rdispls, rdtypes);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLTOALL, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ialltoallw", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ialltoallw")) {
        call.result = start_ialltoallw(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_alltoallw_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *const *sdtypes,
                           void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *const *rdtypes,
                           ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_alltoallw(module, scounts, sdispls, sdtypes, rcounts, rdispls, rdtypes);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLTOALL, &later, GF_NATIVE_PERSISTENT, "MPI_Alltoallw_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Alltoallw_init")) {
        call.result = saved->coll_alltoallw_init(call.send.host, scounts, sdispls, sdtypes, call.recv.host, rcounts, rdispls,
                                                 rdtypes, comm, info, request, saved->coll_alltoallw_init_module);
    }
    return gf_request_return(&call, request);
}
