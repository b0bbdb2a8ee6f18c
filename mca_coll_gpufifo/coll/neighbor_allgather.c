/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbourhood collectives of the family of allgather.c, with the neighbours of a topology for peers.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

int gf_coll_neighbor_allgather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                               ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_NEIGHBOR_ALLGATHER, 0, "MPI_Neighbor_allgather", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Neighbor_allgather")) {
        call.result = saved->coll_neighbor_allgather(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                                     saved->coll_neighbor_allgather_module);
    }
    return gf_stage_end(&call);
}

static int start_ineighbor_allgather(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ineighbor_allgather(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcount, ours->rtype,
                                           gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_neighbor_allgather(mca_coll_base_module_t *module, gf_mpi_count scount,
                                                     ompi_datatype_t *sdtype, gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_ineighbor_allgather,
                                  .owner = gf_coll_saved(module)->coll_ineighbor_allgather_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcount = rcount, .rtype = rdtype};
}

int gf_coll_ineighbor_allgather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                                ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_neighbor_allgather(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLGATHER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ineighbor_allgather",
                          request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_allgather")) {
        call.result = start_ineighbor_allgather(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_allgather_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                    gf_mpi_count rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                    struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_neighbor_allgather(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLGATHER, &later, GF_NATIVE_PERSISTENT, "MPI_Neighbor_allgather_init",
                          request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_allgather_init")) {
        call.result = saved->coll_neighbor_allgather_init(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                                          info, request, saved->coll_neighbor_allgather_init_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_allgatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                                gf_mpi_displs displs, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_NEIGHBOR_ALLGATHER, 0, "MPI_Neighbor_allgatherv", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Neighbor_allgatherv")) {
        call.result = saved->coll_neighbor_allgatherv(call.send.host, scount, sdtype, call.recv.host, rcounts, displs, rdtype,
                                                      comm, saved->coll_neighbor_allgatherv_module);
    }
    return gf_stage_end(&call);
}

static int start_ineighbor_allgatherv(const struct gf_saved_call *ours, const struct gf_stage_call *call,
                                      ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ineighbor_allgatherv(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcounts,
                                            ours->rdispls, ours->rtype, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_neighbor_allgatherv(mca_coll_base_module_t *module, gf_mpi_count scount,
                                                      ompi_datatype_t *sdtype, gf_mpi_counts rcounts, gf_mpi_displs displs,
                                                      ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_ineighbor_allgatherv,
                                  .owner = gf_coll_saved(module)->coll_ineighbor_allgatherv_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcounts = rcounts, .rdispls = displs, .rtype = rdtype};
}

int gf_coll_ineighbor_allgatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                 gf_mpi_counts rcounts, gf_mpi_displs displs, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_neighbor_allgatherv(module, scount, sdtype, rcounts, displs, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLGATHER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ineighbor_allgatherv",
                          request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_allgatherv")) {
        call.result = start_ineighbor_allgatherv(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_allgatherv_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                     gf_mpi_counts rcounts, gf_mpi_displs displs, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                     mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_neighbor_allgatherv(module, scount, sdtype, rcounts, displs, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(gf_peers_neighbours(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_NEIGHBOR_ALLGATHER, &later, GF_NATIVE_PERSISTENT, "MPI_Neighbor_allgatherv_init",
                          request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_allgatherv_init")) {
        call.result = saved->coll_neighbor_allgatherv_init(call.send.host, scount, sdtype, call.recv.host, rcounts, displs,
                                                           rdtype, comm, info, request,
                                                           saved->coll_neighbor_allgatherv_init_module);
    }
    return gf_request_return(&call, request);
}
