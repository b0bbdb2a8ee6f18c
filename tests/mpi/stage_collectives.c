/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One small function for each form of each collective.
 */
#include "tests/mpi/stage_collectives.h"

#include <mpi-ext.h>

/* Open MPI 4.1 has persistent collectives as an extension, MPI 4 as its own. */
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && MPI_VERSION < 4
#define PERSISTENT(name) MPIX_##name##_init
#elif MPI_VERSION >= 4
#define PERSISTENT(name) MPI_##name##_init
#endif

#ifdef PERSISTENT
#define HAS_PERSISTENT(function) function
#else
#define HAS_PERSISTENT(function) NULL
#endif

static void bcast(const struct stage_arguments *a)
{
    MPI_Bcast(a->recv, a->rcount, a->rtype, a->root, a->comm);
}

static void ibcast(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ibcast(a->recv, a->rcount, a->rtype, a->root, a->comm, request);
}

static void gather(const struct stage_arguments *a)
{
    MPI_Gather(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm);
}

static void igather(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Igather(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm, request);
}

static void gatherv(const struct stage_arguments *a)
{
    MPI_Gatherv(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->root, a->comm);
}

static void igatherv(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Igatherv(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->root, a->comm, request);
}

static void scatter(const struct stage_arguments *a)
{
    MPI_Scatter(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm);
}

static void iscatter(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iscatter(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm, request);
}

static void scatterv(const struct stage_arguments *a)
{
    MPI_Scatterv(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm);
}

static void iscatterv(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iscatterv(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm, request);
}

static void allgather(const struct stage_arguments *a)
{
    MPI_Allgather(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm);
}

static void iallgather(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iallgather(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, request);
}

static void allgatherv(const struct stage_arguments *a)
{
    MPI_Allgatherv(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm);
}

static void iallgatherv(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iallgatherv(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm, request);
}

static void alltoall(const struct stage_arguments *a)
{
    MPI_Alltoall(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm);
}

static void ialltoall(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ialltoall(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, request);
}

static void alltoallv(const struct stage_arguments *a)
{
    MPI_Alltoallv(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm);
}

static void ialltoallv(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ialltoallv(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm, request);
}

static void alltoallw(const struct stage_arguments *a)
{
    MPI_Alltoallw(a->send, a->scounts, a->sdispls, a->stypes, a->recv, a->rcounts, a->rdispls, a->rtypes, a->comm);
}

static void ialltoallw(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ialltoallw(a->send, a->scounts, a->sdispls, a->stypes, a->recv, a->rcounts, a->rdispls, a->rtypes, a->comm, request);
}

static void reduce(const struct stage_arguments *a)
{
    MPI_Reduce(a->send, a->recv, a->rcount, a->rtype, a->op, a->root, a->comm);
}

static void ireduce(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ireduce(a->send, a->recv, a->rcount, a->rtype, a->op, a->root, a->comm, request);
}

static void allreduce(const struct stage_arguments *a)
{
    MPI_Allreduce(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm);
}

static void iallreduce(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iallreduce(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, request);
}

static void reduce_scatter(const struct stage_arguments *a)
{
    MPI_Reduce_scatter(a->send, a->recv, a->rcounts, a->rtype, a->op, a->comm);
}

static void ireduce_scatter(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ireduce_scatter(a->send, a->recv, a->rcounts, a->rtype, a->op, a->comm, request);
}

static void reduce_scatter_block(const struct stage_arguments *a)
{
    MPI_Reduce_scatter_block(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm);
}

static void ireduce_scatter_block(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ireduce_scatter_block(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, request);
}

static void scan(const struct stage_arguments *a)
{
    MPI_Scan(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm);
}

static void iscan(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iscan(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, request);
}

static void exscan(const struct stage_arguments *a)
{
    MPI_Exscan(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm);
}

static void iexscan(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Iexscan(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, request);
}

static void neighbor_allgather(const struct stage_arguments *a)
{
    MPI_Neighbor_allgather(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm);
}

static void ineighbor_allgather(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ineighbor_allgather(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, request);
}

static void neighbor_allgatherv(const struct stage_arguments *a)
{
    MPI_Neighbor_allgatherv(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm);
}

static void ineighbor_allgatherv(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ineighbor_allgatherv(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm, request);
}

static void neighbor_alltoall(const struct stage_arguments *a)
{
    MPI_Neighbor_alltoall(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm);
}

static void ineighbor_alltoall(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ineighbor_alltoall(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, request);
}

static void neighbor_alltoallv(const struct stage_arguments *a)
{
    MPI_Neighbor_alltoallv(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm);
}

static void ineighbor_alltoallv(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ineighbor_alltoallv(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm,
                            request);
}

static void neighbor_alltoallw(const struct stage_arguments *a)
{
    MPI_Neighbor_alltoallw(a->send, a->scounts, a->sbytes, a->stypes, a->recv, a->rcounts, a->rbytes, a->rtypes, a->comm);
}

static void ineighbor_alltoallw(const struct stage_arguments *a, MPI_Request *request)
{
    MPI_Ineighbor_alltoallw(a->send, a->scounts, a->sbytes, a->stypes, a->recv, a->rcounts, a->rbytes, a->rtypes, a->comm,
                            request);
}

#ifdef PERSISTENT
static void bcast_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Bcast)(a->recv, a->rcount, a->rtype, a->root, a->comm, MPI_INFO_NULL, request);
}

static void gather_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Gather)(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm, MPI_INFO_NULL, request);
}

static void gatherv_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Gatherv)(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->root, a->comm, MPI_INFO_NULL,
                        request);
}

static void scatter_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Scatter)(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm, MPI_INFO_NULL, request);
}

static void scatterv_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Scatterv)(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcount, a->rtype, a->root, a->comm, MPI_INFO_NULL,
                         request);
}

static void allgather_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Allgather)(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, MPI_INFO_NULL, request);
}

static void allgatherv_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Allgatherv)(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm, MPI_INFO_NULL,
                           request);
}

static void alltoall_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Alltoall)(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, MPI_INFO_NULL, request);
}

static void alltoallv_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Alltoallv)(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm,
                          MPI_INFO_NULL, request);
}

static void alltoallw_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Alltoallw)(a->send, a->scounts, a->sdispls, a->stypes, a->recv, a->rcounts, a->rdispls, a->rtypes, a->comm,
                          MPI_INFO_NULL, request);
}

static void reduce_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Reduce)(a->send, a->recv, a->rcount, a->rtype, a->op, a->root, a->comm, MPI_INFO_NULL, request);
}

static void allreduce_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Allreduce)(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, MPI_INFO_NULL, request);
}

static void reduce_scatter_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Reduce_scatter)(a->send, a->recv, a->rcounts, a->rtype, a->op, a->comm, MPI_INFO_NULL, request);
}

static void reduce_scatter_block_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Reduce_scatter_block)(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, MPI_INFO_NULL, request);
}

static void scan_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Scan)(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, MPI_INFO_NULL, request);
}

static void exscan_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Exscan)(a->send, a->recv, a->rcount, a->rtype, a->op, a->comm, MPI_INFO_NULL, request);
}

static void neighbor_allgather_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Neighbor_allgather)(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, MPI_INFO_NULL, request);
}

static void neighbor_allgatherv_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Neighbor_allgatherv)(a->send, a->scount, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm,
                                    MPI_INFO_NULL, request);
}

static void neighbor_alltoall_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Neighbor_alltoall)(a->send, a->scount, a->stype, a->recv, a->rcount, a->rtype, a->comm, MPI_INFO_NULL, request);
}

static void neighbor_alltoallv_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Neighbor_alltoallv)(a->send, a->scounts, a->sdispls, a->stype, a->recv, a->rcounts, a->rdispls, a->rtype, a->comm,
                                   MPI_INFO_NULL, request);
}

static void neighbor_alltoallw_init(const struct stage_arguments *a, MPI_Request *request)
{
    PERSISTENT(Neighbor_alltoallw)(a->send, a->scounts, a->sbytes, a->stypes, a->recv, a->rcounts, a->rbytes, a->rtypes, a->comm,
                                   MPI_INFO_NULL, request);
}
#endif

const struct stage_collective stage_collectives[] = {
    {.name = "Bcast", .send = SIDE_ONE, .recv = SIDE_ONE, .rooted = ROOTED_BCAST,
     .blocking = bcast, .nonblocking = ibcast, .persistent = HAS_PERSISTENT(bcast_init)},
    {.name = "Gather", .send = SIDE_ONE, .recv = SIDE_EQUAL, .rooted = ROOTED_GATHER, .in_place = IN_PLACE_SEND,
     .blocking = gather, .nonblocking = igather, .persistent = HAS_PERSISTENT(gather_init)},
    {.name = "Gatherv", .send = SIDE_ONE, .recv = SIDE_V, .rooted = ROOTED_GATHER, .in_place = IN_PLACE_SEND, .by_sender = true,
     .blocking = gatherv, .nonblocking = igatherv, .persistent = HAS_PERSISTENT(gatherv_init)},
    {.name = "Scatter", .send = SIDE_EQUAL, .recv = SIDE_ONE, .rooted = ROOTED_SCATTER, .in_place = IN_PLACE_RECV,
     .blocking = scatter, .nonblocking = iscatter, .persistent = HAS_PERSISTENT(scatter_init)},
    {.name = "Scatterv", .send = SIDE_V, .recv = SIDE_ONE, .rooted = ROOTED_SCATTER,
     .in_place = IN_PLACE_RECV, .by_receiver = true,
     .blocking = scatterv, .nonblocking = iscatterv, .persistent = HAS_PERSISTENT(scatterv_init)},
    {.name = "Allgather", .send = SIDE_ONE, .recv = SIDE_EQUAL, .in_place = IN_PLACE_SEND,
     .blocking = allgather, .nonblocking = iallgather, .persistent = HAS_PERSISTENT(allgather_init)},
    {.name = "Allgatherv", .send = SIDE_ONE, .recv = SIDE_V, .in_place = IN_PLACE_SEND, .by_sender = true,
     .blocking = allgatherv, .nonblocking = iallgatherv, .persistent = HAS_PERSISTENT(allgatherv_init)},
    {.name = "Alltoall", .send = SIDE_EQUAL, .recv = SIDE_EQUAL, .in_place = IN_PLACE_SEND,
     .blocking = alltoall, .nonblocking = ialltoall, .persistent = HAS_PERSISTENT(alltoall_init)},
    {.name = "Alltoallv", .send = SIDE_V, .recv = SIDE_V, .in_place = IN_PLACE_SEND, .by_sender = true, .by_receiver = true,
     .blocking = alltoallv, .nonblocking = ialltoallv, .persistent = HAS_PERSISTENT(alltoallv_init)},
    {.name = "Alltoallw", .send = SIDE_W, .recv = SIDE_W, .in_place = IN_PLACE_SEND, .by_sender = true, .by_receiver = true,
     .blocking = alltoallw, .nonblocking = ialltoallw, .persistent = HAS_PERSISTENT(alltoallw_init)},
    {.name = "Reduce", .send = SIDE_ONE, .recv = SIDE_ONE, .rooted = ROOTED_GATHER, .in_place = IN_PLACE_SEND, .reduces = true,
     .blocking = reduce, .nonblocking = ireduce, .persistent = HAS_PERSISTENT(reduce_init)},
    {.name = "Allreduce", .send = SIDE_ONE, .recv = SIDE_ONE, .in_place = IN_PLACE_SEND, .reduces = true,
     .blocking = allreduce, .nonblocking = iallreduce, .persistent = HAS_PERSISTENT(allreduce_init)},
    {.name = "Reduce_scatter", .send = SIDE_SUM, .recv = SIDE_ONE,
     .in_place = IN_PLACE_SEND, .by_receiver = true, .reduces = true,
     .blocking = reduce_scatter, .nonblocking = ireduce_scatter, .persistent = HAS_PERSISTENT(reduce_scatter_init)},
    {.name = "Reduce_scatter_block", .send = SIDE_SUM, .recv = SIDE_ONE, .in_place = IN_PLACE_SEND, .reduces = true,
     .blocking = reduce_scatter_block, .nonblocking = ireduce_scatter_block,
     .persistent = HAS_PERSISTENT(reduce_scatter_block_init)},
    {.name = "Scan", .send = SIDE_ONE, .recv = SIDE_ONE, .in_place = IN_PLACE_SEND, .reduces = true, .prefix = true,
     .blocking = scan, .nonblocking = iscan, .persistent = HAS_PERSISTENT(scan_init)},
    {.name = "Exscan", .send = SIDE_ONE, .recv = SIDE_ONE,
     .in_place = IN_PLACE_SEND, .reduces = true, .prefix = true, .exclusive = true,
     .blocking = exscan, .nonblocking = iexscan, .persistent = HAS_PERSISTENT(exscan_init)},
    {.name = "Neighbor_allgather", .send = SIDE_ONE, .recv = SIDE_EQUAL, .neighbours = true,
     .blocking = neighbor_allgather, .nonblocking = ineighbor_allgather, .persistent = HAS_PERSISTENT(neighbor_allgather_init)},
    {.name = "Neighbor_allgatherv", .send = SIDE_ONE, .recv = SIDE_V, .by_sender = true, .neighbours = true,
     .blocking = neighbor_allgatherv, .nonblocking = ineighbor_allgatherv,
     .persistent = HAS_PERSISTENT(neighbor_allgatherv_init)},
    {.name = "Neighbor_alltoall", .send = SIDE_EQUAL, .recv = SIDE_EQUAL, .neighbours = true,
     .blocking = neighbor_alltoall, .nonblocking = ineighbor_alltoall, .persistent = HAS_PERSISTENT(neighbor_alltoall_init)},
    {.name = "Neighbor_alltoallv", .send = SIDE_V, .recv = SIDE_V, .by_sender = true, .by_receiver = true, .neighbours = true,
     .blocking = neighbor_alltoallv, .nonblocking = ineighbor_alltoallv, .persistent = HAS_PERSISTENT(neighbor_alltoallv_init)},
    {.name = "Neighbor_alltoallw", .send = SIDE_W, .recv = SIDE_W, .by_sender = true, .by_receiver = true, .neighbours = true,
     .blocking = neighbor_alltoallw, .nonblocking = ineighbor_alltoallw, .persistent = HAS_PERSISTENT(neighbor_alltoallw_init)},
};
const size_t stage_collective_count = sizeof stage_collectives / sizeof *stage_collectives;
