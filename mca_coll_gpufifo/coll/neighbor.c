/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbourhood collectives: those of allgather.c and alltoall.c with the neighbours of a topology for peers.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"
#include "mca_coll_gpufifo/neighbours.h"

/* Degrees count the missing neighbours at the edge of a grid too. */
static struct gf_peers neighbours(ompi_communicator_t *comm)
{
    struct gf_peers peers = {.self = -1, .to = gf_neighbours_count(comm, true), .from = gf_neighbours_count(comm, false)};

    if (OMPI_COMM_IS_CART(comm)) {
        peers.grid = comm->c_topo->mtc.cart;
    }
    return peers;
}

int gf_coll_neighbor_allgather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                               ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
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

int gf_coll_ineighbor_allgather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                                ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_allgather")) {
        call.result = saved->coll_ineighbor_allgather(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                                      request, saved->coll_ineighbor_allgather_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_allgather_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                    gf_mpi_count rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                    struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
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
        call = gf_describe_allgather_v(neighbours(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
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

int gf_coll_ineighbor_allgatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                 gf_mpi_counts rcounts, gf_mpi_displs displs, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(neighbours(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_allgatherv")) {
        call.result = saved->coll_ineighbor_allgatherv(call.send.host, scount, sdtype, call.recv.host, rcounts, displs, rdtype,
                                                       comm, request, saved->coll_ineighbor_allgatherv_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_allgatherv_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                     gf_mpi_counts rcounts, gf_mpi_displs displs, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                     mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(neighbours(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_allgatherv_init")) {
        call.result = saved->coll_neighbor_allgatherv_init(call.send.host, scount, sdtype, call.recv.host, rcounts, displs,
                                                           rdtype, comm, info, request,
                                                           saved->coll_neighbor_allgatherv_init_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoall(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                              ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
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

int gf_coll_ineighbor_alltoall(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                               ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                               mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_alltoall")) {
        call.result = saved->coll_ineighbor_alltoall(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                                     request, saved->coll_ineighbor_alltoall_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoall_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf,
                                   gf_mpi_count rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                   struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_equal(neighbours(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
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
        call = gf_describe_alltoall_v(neighbours(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
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

int gf_coll_ineighbor_alltoallv(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype,
                                void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype,
                                ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(neighbours(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_alltoallv")) {
        call.result = saved->coll_ineighbor_alltoallv(call.send.host, scounts, sdispls, sdtype, call.recv.host, rcounts, rdispls,
                                                      rdtype, comm, request, saved->coll_ineighbor_alltoallv_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoallv_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype,
                                    void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype,
                                    ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                    mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_alltoall_v(neighbours(comm), sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype);
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
    struct gf_peers peers = neighbours(comm);

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

int gf_coll_ineighbor_alltoallw(const void *sbuf, gf_mpi_counts scounts, gf_mpi_byte_displs sdispls,
                                ompi_datatype_t *const *sdtypes, void *rbuf, gf_mpi_counts rcounts, gf_mpi_byte_displs rdispls,
                                ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_request_begin(&call, comm, "MPI_Ineighbor_alltoallw")) {
        call.result = saved->coll_ineighbor_alltoallw(call.send.host, scounts, sdispls, sdtypes, call.recv.host, rcounts, rdispls,
                                                      rdtypes, comm, request, saved->coll_ineighbor_alltoallw_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_neighbor_alltoallw_init(const void *sbuf, gf_mpi_counts scounts, gf_mpi_byte_displs sdispls,
                                    ompi_datatype_t *const *sdtypes, void *rbuf, gf_mpi_counts rcounts,
                                    gf_mpi_byte_displs rdispls, ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                                    struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = alltoallw(comm, sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes);
    }
    if (gf_request_init(&call, comm, "MPI_Neighbor_alltoallw_init")) {
        call.result = saved->coll_neighbor_alltoallw_init(call.send.host, scounts, sdispls, sdtypes, call.recv.host, rcounts,
                                                          rdispls, rdtypes, comm, info, request,
                                                          saved->coll_neighbor_alltoallw_init_module);
    }
    return gf_request_return(&call, request);
}
