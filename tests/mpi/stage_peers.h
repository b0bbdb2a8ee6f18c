/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whom a rank exchanges data with in a collective.
 */
#ifndef TESTS_MPI_STAGE_PEERS_H
#define TESTS_MPI_STAGE_PEERS_H

#include <mpi.h>
#include <stdbool.h>

enum { STAGE_PEERS = 16 };                 /* at most so many parts */

/* Whom this rank exchanges parts with, as ranks in MPI_COMM_WORLD; -1 for a missing neighbour. */
struct stage_peers {
    int to_count, to[STAGE_PEERS];
    int from_count, from[STAGE_PEERS];
    int group_count, group[STAGE_PEERS];   /* the ranks of this rank's own group */
    int rank;                              /* this rank in MPI_COMM_WORLD */
    bool inter;
};

/* neighbours: those of the communicator's topology, else all of its ranks, or of the other group. */
void stage_peers_find(MPI_Comm comm, bool neighbours, struct stage_peers *peers);

#endif
