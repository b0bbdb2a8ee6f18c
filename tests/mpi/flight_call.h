/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One non-blocking or persistent collective of test_flight, on buffers of its own: its start, its end, and whether the result is
 * right.
 */
#ifndef TESTS_MPI_FLIGHT_CALL_H
#define TESTS_MPI_FLIGHT_CALL_H

#include <stdint.h>

#include "tests/mpi/harness.h"

enum { COUNT = 1000, MANY = 12, RANKS_MOST = 16 };

enum form {
    IBCAST, IALLGATHER, IALLGATHERV, IALLTOALL, IALLTOALLV, IALLTOALLW, IGATHER, IGATHERV, ISCATTER, ISCATTERV,
    INEIGHBOR_ALLGATHER, INEIGHBOR_ALLGATHERV, INEIGHBOR_ALLTOALL, INEIGHBOR_ALLTOALLV, INEIGHBOR_ALLTOALLW,
    IALLREDUCE, IREDUCE, IREDUCE_SCATTER, IREDUCE_SCATTER_BLOCK, ISCAN, IEXSCAN, FORMS,
    MOVES = IALLREDUCE                 /* those before move blocks, the others add */
};

struct test {
    struct harness *h;
    MPI_Comm world;                /* all ranks, each of which is everybody's neighbour, in their order */
    uint64_t common, own;          /* random: the same on all ranks, and this rank's */
    int value;                     /* of the next call */
    int forms;                     /* FORMS, or MOVES: the reductions are not tested */
    bool persistent;
};

/* One call under way. Those with displacements have their blocks in the reverse order of the ranks. */
struct flight {
    enum form form;
    int root, value, ranks, rank;
    bool in_place;                 /* of reductions, every second one */
    struct buffer send, recv;      /* a broadcast has the first only */
    int counts[RANKS_MOST], displs[RANKS_MOST], bytes[RANKS_MOST];
    MPI_Aint places[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
    bool persistent;
    MPI_Request request;
};

/* The communicator for t->world. */
MPI_Comm flight_world(const struct harness *h);

unsigned flight_draw(uint64_t *random, unsigned below);

/* All but its start; kind: of its buffers on this rank. f stays where it is until its end. */
void flight_prepare(struct test *t, MPI_Comm comm, enum gpufifo_memory kind, enum form form, int root, struct flight *f);
void flight_start(struct flight *f, MPI_Comm comm);

/* Both. */
void flight_begin(struct test *t, MPI_Comm comm, enum gpufifo_memory kind, enum form form, int root, struct flight *f);

/* What it gives, into its buffers. Not while it is under way. */
void flight_fill(struct flight *f, int value);

/* Has its result come? */
bool flight_is_right(const struct flight *f);

/* Waits for it, and looks at the result; end also frees all that it has. */
void flight_check(struct test *t, struct flight *f, const char *what);
void flight_end(struct test *t, struct flight *f, const char *what);

#endif
