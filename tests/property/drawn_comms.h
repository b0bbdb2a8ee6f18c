/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators to draw from.
 */
#ifndef TESTS_PROPERTY_DRAWN_COMMS_H
#define TESTS_PROPERTY_DRAWN_COMMS_H

#include <stdint.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/stage_collectives.h"
#include "tests/mpi/stage_comms.h"

enum drawn_comm {
    COMM_WORLD, COMM_DUP, COMM_SPLIT, COMM_PART, COMM_SELF,
    COMM_GRID,                                      /* the first of STAGE_TOPOLOGIES; all of them take plain calls, too */
    COMM_INTER = COMM_GRID + STAGE_TOPOLOGIES,
    COMMS
};

/* MPI_COMM_NULL where this rank is not a member, or there is no such communicator. */
struct drawn_comms { MPI_Comm comm[COMMS]; };

/* Both collective over MPI_COMM_WORLD. */
void drawn_comms_make(const struct harness *h, struct drawn_comms *comms);
void drawn_comms_free(struct drawn_comms *comms);

/* One that may be used for the collective; the same on all ranks for the same bits. */
enum drawn_comm drawn_comms_pick(const struct stage_collective *collective, uint64_t bits);

const char *drawn_comms_name(enum drawn_comm comm);

#endif
