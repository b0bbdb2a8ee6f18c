/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbours of grids, graphs and distributed graphs.
 */
#include "mca_coll_gpufifo/neighbours.h"

#include "ompi/mca/topo/base/base.h"

int gf_neighbours_count(ompi_communicator_t *comm, bool sent)
{
    int from = 0, to = 0;

    mca_topo_base_neighbor_count(comm, &from, &to);
    return sent ? to : from;
}

/* In each dimension the lower one, then the upper one. */
static int of_grid(ompi_communicator_t *comm, int part)
{
    int neighbours[2] = {MPI_PROC_NULL, MPI_PROC_NULL};

    mca_topo_base_cart_shift(comm, part / 2, 1, &neighbours[0], &neighbours[1]);
    return neighbours[part % 2];
}

int gf_neighbours_rank(ompi_communicator_t *comm, bool sent, int part)
{
    if (OMPI_COMM_IS_CART(comm)) {
        return of_grid(comm, part);
    }
    if (OMPI_COMM_IS_GRAPH(comm)) {
        const mca_topo_base_comm_graph_t *graph = comm->c_topo->mtc.graph;
        int rank = ompi_comm_rank(comm);

        return graph->edges[(rank > 0 ? graph->index[rank - 1] : 0) + part];
    }
    const mca_topo_base_comm_dist_graph_t *graph = comm->c_topo->mtc.dist_graph;

    return sent ? graph->out[part] : graph->in[part];
}
