/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbourhood collectives of the family of alltoall.c, with the neighbours of a topology for peers.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

int gf_coll_neighbor_alltoall(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                              ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, 0, "MPI_Neighbor_alltoall", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Neighbor_alltoall")) {
        call.result = saved->coll_neighbor_alltoall(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                                    saved->coll_neighbor_alltoall_module);
    }
    return gf_stage_end(&call);
}

static int start_ineighbor_alltoall(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ineighbor_alltoall(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcount, ours->rtype,
                                          gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_neighbor_alltoall(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                                    gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_ineighbor_alltoall,
                                  .owner = gf_coll_saved(module)->coll_ineighbor_alltoall_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcount = rcount, .rtype = rdtype};
}

int gf_coll_ineighbor_alltoall(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                               ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                               mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_neighbor_alltoall(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ineighbor_alltoall",
                          request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_alltoall")) {
        call.result = start_ineighbor_alltoall(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoall_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                   gf_mpi_count rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                   struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_neighbor_alltoall(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, &later, GF_NATIVE_PERSISTENT, "MPI_Neighbor_alltoall_init",
                          request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_alltoall_init")) {
        call.result = saved->coll_neighbor_alltoall_init(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                                         info, request, saved->coll_neighbor_alltoall_init_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoallv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype,
                               void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype,
                               ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(gf_peers_neighbours(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, 0, "MPI_Neighbor_alltoallv", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Neighbor_alltoallv")) {
        call.result = saved->coll_neighbor_alltoallv(call.send.host, scounts, sdispls, sdtype, call.recv.host, rcounts, rdispls,
                                                     rdtype, comm, saved->coll_neighbor_alltoallv_module);
    }
    return gf_stage_end(&call);
}

static int start_ineighbor_alltoallv(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ineighbor_alltoallv(call->send.host, ours->scounts, ours->sdispls, ours->stype, call->recv.host,
                                           ours->rcounts, ours->rdispls, ours->rtype, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_neighbor_alltoallv(mca_coll_base_module_t *module, gf_mpi_counts scounts,
                                                     gf_mpi_displs sdispls, ompi_datatype_t *sdtype, gf_mpi_counts rcounts,
                                                     gf_mpi_displs rdispls, ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_ineighbor_alltoallv,
                                  .owner = gf_coll_saved(module)->coll_ineighbor_alltoallv_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scounts = scounts, .sdispls = sdispls,
                                  .stype = sdtype, .rcounts = rcounts, .rdispls = rdispls, .rtype = rdtype};
}

int gf_coll_ineighbor_alltoallv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype,
                                void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype,
                                ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_neighbor_alltoallv(module, scounts, sdispls, sdtype, rcounts, rdispls, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(gf_peers_neighbours(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ineighbor_alltoallv",
                          request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_alltoallv")) {
        call.result = start_ineighbor_alltoallv(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoallv_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype,
                                    void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype,
                                    ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                    mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_neighbor_alltoallv(module, scounts, sdispls, sdtype, rcounts, rdispls, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(gf_peers_neighbours(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, &later, GF_NATIVE_PERSISTENT, "MPI_Neighbor_alltoallv_init",
                          request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_alltoallv_init")) {
        call.result = saved->coll_neighbor_alltoallv_init(call.send.host, scounts, sdispls, sdtype, call.recv.host, rcounts,
                                                          rdispls, rdtype, comm, info, request,
                                                          saved->coll_neighbor_alltoallv_init_module);
    }
    return gf_request_return(&call, request);
}

/* Unlike MPI_Alltoallw's, its displacements are addresses wide. */
static struct gf_stage_call alltoallw(ompi_communicator_t *comm, const void *sbuf, gf_mpi_counts scounts,
                                      gf_mpi_byte_displs sdispls, ompi_datatype_t *const *sdtypes, void *rbuf,
                                      gf_mpi_counts rcounts, gf_mpi_byte_displs rdispls, ompi_datatype_t *const *rdtypes)
{
    struct gf_peers peers = gf_peers_neighbours(comm);

    return gf_describe_alltoall(peers, sbuf, gf_layout_w_bytes(peers.to, scounts, sdispls, sdtypes),
                                rbuf, gf_layout_w_bytes(peers.from, rcounts, rdispls, rdtypes));
}

int gf_coll_neighbor_alltoallw(const void *sbuf, gf_mpi_counts scounts, gf_mpi_byte_displs sdispls,
                               ompi_datatype_t *const *sdtypes, void *rbuf, gf_mpi_counts rcounts, gf_mpi_byte_displs rdispls,
                               ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, 0, "MPI_Neighbor_alltoallw", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Neighbor_alltoallw")) {
        call.result = saved->coll_neighbor_alltoallw(call.send.host, scounts, sdispls, sdtypes, call.recv.host, rcounts, rdispls,
                                                     rdtypes, comm, saved->coll_neighbor_alltoallw_module);
    }
    return gf_stage_end(&call);
}

static int start_ineighbor_alltoallw(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ineighbor_alltoallw(call->send.host, ours->scounts, ours->sbytes, ours->stypes, call->recv.host,
                                           ours->rcounts, ours->rbytes, ours->rtypes, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_neighbor_alltoallw(mca_coll_base_module_t *module, gf_mpi_counts scounts,
                                                     gf_mpi_byte_displs sdispls, ompi_datatype_t *const *sdtypes,
                                                     gf_mpi_counts rcounts, gf_mpi_byte_displs rdispls,
                                                     ompi_datatype_t *const *rdtypes)
{
    return (struct gf_saved_call){.start = start_ineighbor_alltoallw,
                                  .owner = gf_coll_saved(module)->coll_ineighbor_alltoallw_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scounts = scounts, .sbytes = sdispls,
                                  .stypes = sdtypes, .rcounts = rcounts, .rbytes = rdispls, .rtypes = rdtypes};
}

int gf_coll_ineighbor_alltoallw(const void *sbuf, gf_mpi_counts scounts, gf_mpi_byte_displs sdispls,
                                ompi_datatype_t *const *sdtypes, void *rbuf, gf_mpi_counts rcounts, gf_mpi_byte_displs rdispls,
                                ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_neighbor_alltoallw(module, scounts, sdispls, sdtypes, rcounts, rdispls, rdtypes);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ineighbor_alltoallw",
                          request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_alltoallw")) {
        call.result = start_ineighbor_alltoallw(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoallw_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_byte_displs sdispls,
                                    ompi_datatype_t *const *sdtypes, void *rbuf, gf_mpi_counts rcounts,
                                    gf_mpi_byte_displs rdispls, ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                                    struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_neighbor_alltoallw(module, scounts, sdispls, sdtypes, rcounts, rdispls, rdtypes);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLTOALL, &later, GF_NATIVE_PERSISTENT, "MPI_Neighbor_alltoallw_init",
                          request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_alltoallw_init")) {
        call.result = saved->coll_neighbor_alltoallw_init(call.send.host, scounts, sdispls, sdtypes, call.recv.host, rcounts,
                                                          rdispls, rdtypes, comm, info, request,
                                                          saved->coll_neighbor_alltoallw_init_module);
    }
    return gf_request_return(&call, request);
}
