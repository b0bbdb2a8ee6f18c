/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators of all kinds.
 */
#ifndef TESTS_MPI_STAGE_COMMS_H
#define TESTS_MPI_STAGE_COMMS_H

#include <mpi.h>

enum { STAGE_TOPOLOGIES = 4 };

/* With neighbours, made so that missing neighbours, repeated and one-sided edges occur; at most STAGE_PEERS ranks. Both for the
 * rank `rank` of MPI_COMM_WORLD's `ranks`; the caller frees what comes. */
void stage_topologies_make(int ranks, int rank, MPI_Comm comms[STAGE_TOPOLOGIES]);

/* Between even and odd ranks. Null if there is only one rank. */
MPI_Comm stage_intercommunicator_make(int ranks, int rank);

#endif
