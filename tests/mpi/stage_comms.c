/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topologies over MPI_COMM_WORLD, and an intercommunicator.
 */
#include "tests/mpi/stage_comms.h"

#include "tests/mpi/stage_peers.h"

void stage_topologies_make(int ranks, int rank, MPI_Comm comms[STAGE_TOPOLOGIES])
{
    int dimensions[2] = {0, 0}, wrapped[2] = {1, 1}, half[2] = {0, 1};
    int index[STAGE_PEERS], edges[2 * STAGE_PEERS];
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    int sources[3] = {left, left, rank}, targets[3] = {right, right, rank}, weights[3] = {1, 1, 1};

    MPI_Dims_create(ranks, 2, dimensions);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, wrapped, 0, &comms[0]);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, half, 0, &comms[1]);
    for (int i = 0; i < ranks; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + ranks - 1) % ranks;
        edges[2 * i + 1] = (i + 1) % ranks;
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &comms[2]);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, weights, 3, targets, weights, MPI_INFO_NULL, 0, &comms[3]);
}

MPI_Comm stage_intercommunicator_make(int ranks, int rank)
{
    MPI_Comm group, inter;

    if (ranks == 1) {
        return MPI_COMM_NULL;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 99, &inter);
    MPI_Comm_free(&group);
    return inter;
}
