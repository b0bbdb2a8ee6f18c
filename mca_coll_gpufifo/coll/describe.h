/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words in which the collectives describe their buffers: who the peers are, which role this rank plays, and what the
 * families of allgather and alltoall read and write, be it with all ranks or with neighbours.
 */
#ifndef GF_MCA_COLL_DESCRIBE_H
#define GF_MCA_COLL_DESCRIBE_H

#include "mca_coll_gpufifo/coll/coll.h"
#include "mca_coll_gpufifo/neighbours.h"
#include "mca_coll_gpufifo/request.h"
#include "mca_coll_gpufifo/stage.h"

/* How many parts this rank sends and receives. */
struct gf_peers {
    int to, from;
    int self;                                /* this rank among them; -1 where they are another group, or neighbours */
    const mca_topo_base_comm_cart_t *grid;   /* the neighbours are those of a grid, and some may be missing; else null */
};

/* All ranks: of this communicator, or of the other group of an intercommunicator. */
static inline struct gf_peers gf_peers_all(ompi_communicator_t *comm)
{
    if (OMPI_COMM_IS_INTER(comm)) {
        int remote = ompi_comm_remote_size(comm);
        return (struct gf_peers){.to = remote, .from = remote, .self = -1};
    }
    int size = ompi_comm_size(comm);
    return (struct gf_peers){.to = size, .from = size, .self = ompi_comm_rank(comm)};
}

/* The neighbours of a topology. Degrees count the missing neighbours at the edge of a grid too. */
static inline struct gf_peers gf_peers_neighbours(ompi_communicator_t *comm)
{
    struct gf_peers peers = {.self = -1, .to = gf_neighbours_count(comm, true), .from = gf_neighbours_count(comm, false)};

    if (OMPI_COMM_IS_CART(comm)) {
        peers.grid = comm->c_topo->mtc.cart;
    }
    return peers;
}

/* A rooted operation has one root and many others; on an intercommunicator the rest of the root's group is idle. */
enum gf_role { GF_ROLE_ROOT, GF_ROLE_OTHER, GF_ROLE_IDLE };

static inline enum gf_role gf_role_of(int root, ompi_communicator_t *comm)
{
    if (OMPI_COMM_IS_INTER(comm)) {
        return root == MPI_ROOT ? GF_ROLE_ROOT : root == MPI_PROC_NULL ? GF_ROLE_IDLE : GF_ROLE_OTHER;
    }
    return root == ompi_comm_rank(comm) ? GF_ROLE_ROOT : GF_ROLE_OTHER;
}

static inline bool gf_is_in_place(const void *buffer) { return buffer == MPI_IN_PLACE; }

/* One contribution goes to all peers; the parts come from them. In place: this rank's contribution is its own part. */
static inline struct gf_stage_call gf_describe_allgather(struct gf_peers peers, const void *sbuf, size_t scount,
                                                         ompi_datatype_t *sdtype, void *rbuf, struct gf_layout parts)
{
    parts = gf_layout_on_grid(parts, peers.grid);
    if (gf_is_in_place(sbuf)) {
        return gf_stage_call(sbuf, gf_layout_none(), rbuf, gf_layout_only(parts, peers.self), parts);
    }
    return gf_stage_call(sbuf, gf_layout_equal(1, scount, sdtype), rbuf, gf_layout_none(), parts);
}

/* The same with the arguments of MPI's calls: parts of equal size, or each with its own. */
static inline struct gf_stage_call gf_describe_allgather_equal(struct gf_peers peers, const void *sbuf, gf_mpi_count scount,
                                                               ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                                                               ompi_datatype_t *rdtype)
{
    return gf_describe_allgather(peers, sbuf, (size_t)scount, sdtype, rbuf, gf_layout_equal(peers.from, (size_t)rcount, rdtype));
}

static inline struct gf_stage_call gf_describe_allgather_v(struct gf_peers peers, const void *sbuf, gf_mpi_count scount,
                                                           ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                                                           gf_mpi_displs displs, ompi_datatype_t *rdtype)
{
    return gf_describe_allgather(peers, sbuf, (size_t)scount, sdtype, rbuf, gf_layout_v(peers.from, rcounts, displs, rdtype));
}

/* Parts go to the peers, parts come from them. In place: both are in the receive buffer, laid out as `received`; `sent` is then
 * not looked at and may be made of arguments that do not count. */
static inline struct gf_stage_call gf_describe_alltoall(struct gf_peers peers, const void *sbuf, struct gf_layout sent,
                                                        void *rbuf, struct gf_layout received)
{
    received = gf_layout_on_grid(received, peers.grid);
    if (gf_is_in_place(sbuf)) {
        return gf_stage_call(sbuf, gf_layout_none(), rbuf, received, received);
    }
    return gf_stage_call(sbuf, gf_layout_on_grid(sent, peers.grid), rbuf, gf_layout_none(), received);
}

static inline struct gf_stage_call gf_describe_alltoall_equal(struct gf_peers peers, const void *sbuf, gf_mpi_count scount,
                                                              ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                                                              ompi_datatype_t *rdtype)
{
    return gf_describe_alltoall(peers, sbuf, gf_layout_equal(peers.to, (size_t)scount, sdtype),
                                rbuf, gf_layout_equal(peers.from, (size_t)rcount, rdtype));
}

static inline struct gf_stage_call gf_describe_alltoall_v(struct gf_peers peers,
    const void *sbuf, gf_mpi_counts scounts, gf_mpi_displs sdispls, ompi_datatype_t *sdtype,
    void *rbuf, gf_mpi_counts rcounts, gf_mpi_displs rdispls, ompi_datatype_t *rdtype)
{
    return gf_describe_alltoall(peers, sbuf, gf_layout_v(peers.to, scounts, sdispls, sdtype),
                                rbuf, gf_layout_v(peers.from, rcounts, rdispls, rdtype));
}

#endif
