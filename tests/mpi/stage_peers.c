/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of a communicator's groups and topology.
 */
#include "tests/mpi/stage_peers.h"

/* Frees the group. */
static int world_ranks(MPI_Group group, int *ranks)
{
    MPI_Group world;
    int size, own[STAGE_PEERS];

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++) {
        own[i] = i;
    }
    MPI_Group_translate_ranks(group, size, own, world, ranks);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return size;
}

static void to_world(const struct stage_peers *peers, int *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        ranks[i] = ranks[i] < 0 ? -1 : peers->group[ranks[i]];
    }
}

static void find_neighbours(MPI_Comm comm, struct stage_peers *peers)
{
    int topology, dimensions, weighted, me, weights[STAGE_PEERS];

    MPI_Topo_test(comm, &topology);
    MPI_Comm_rank(comm, &me);
    if (topology == MPI_CART) {
        MPI_Cartdim_get(comm, &dimensions);
        peers->from_count = peers->to_count = 2 * dimensions;
        for (int i = 0; i < dimensions; i++) {
            MPI_Cart_shift(comm, i, 1, &peers->from[2 * i], &peers->from[2 * i + 1]);
            MPI_Cart_shift(comm, i, 1, &peers->to[2 * i], &peers->to[2 * i + 1]);
        }
    } else if (topology == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, me, &peers->from_count);
        peers->to_count = peers->from_count;
        MPI_Graph_neighbors(comm, me, STAGE_PEERS, peers->from);
        MPI_Graph_neighbors(comm, me, STAGE_PEERS, peers->to);
    } else {
        MPI_Dist_graph_neighbors_count(comm, &peers->from_count, &peers->to_count, &weighted);
        MPI_Dist_graph_neighbors(comm, STAGE_PEERS, peers->from, weights, STAGE_PEERS, peers->to, weights);
    }
    to_world(peers, peers->from, peers->from_count);
    to_world(peers, peers->to, peers->to_count);
}

void stage_peers_find(MPI_Comm comm, bool neighbours, struct stage_peers *peers)
{
    MPI_Group group;
    int inter;

    *peers = (struct stage_peers){0};
    MPI_Comm_rank(MPI_COMM_WORLD, &peers->rank);
    MPI_Comm_test_inter(comm, &inter);
    peers->inter = inter;
    MPI_Comm_group(comm, &group);
    peers->group_count = world_ranks(group, peers->group);
    if (neighbours) {
        find_neighbours(comm, peers);
        return;
    }
    if (inter) {
        MPI_Comm_remote_group(comm, &group);
    } else {
        MPI_Comm_group(comm, &group);
    }
    peers->from_count = peers->to_count = world_ranks(group, peers->from);
    for (int i = 0; i < peers->to_count; i++) {
        peers->to[i] = peers->from[i];
    }
}
