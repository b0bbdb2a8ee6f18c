/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All collectives that have buffers, behind one signature, in their blocking, non-blocking and persistent form.
 */
#ifndef TESTS_MPI_STAGE_COLLECTIVES_H
#define TESTS_MPI_STAGE_COLLECTIVES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* The arguments of any of them; each takes what it knows. */
struct stage_arguments {
    MPI_Comm comm;
    int root;
    MPI_Op op;
    void *send, *recv;
    int scount, rcount;
    MPI_Datatype stype, rtype;
    int *scounts, *sdispls, *rcounts, *rdispls;      /* displacements in elements, for alltoallw in bytes */
    MPI_Aint *sbytes, *rbytes;                       /* for neighbor_alltoallw */
    MPI_Datatype *stypes, *rtypes;
};

/* What one side's buffer holds. */
enum stage_side {
    SIDE_ONE,                  /* one part */
    SIDE_EQUAL,                /* a part a peer, all of one size */
    SIDE_V,                    /* a part a peer with counts and displacements */
    SIDE_W,                    /* and types */
    SIDE_SUM                   /* one part as long as all results of a reduce_scatter together */
};

enum stage_rooted {
    ROOTED_NOT,
    ROOTED_GATHER,             /* the root receives, all send */
    ROOTED_SCATTER,            /* the root sends, all receive */
    ROOTED_BCAST,              /* one buffer, which stage_arguments calls recv */
};

enum stage_in_place {
    IN_PLACE_NOT,
    IN_PLACE_SEND,             /* the send buffer may be MPI_IN_PLACE; where rooted, at the root */
    IN_PLACE_RECV
};

struct stage_collective {
    const char *name;
    enum stage_side send, recv;
    enum stage_rooted rooted;
    enum stage_in_place in_place;
    bool by_sender, by_receiver;   /* what the number of elements depends on */
    bool reduces;
    bool prefix;                   /* scans: not on intercommunicators */
    bool exclusive;                /* rank 0 has no result */
    bool neighbours;
    void (*blocking)(const struct stage_arguments *a);
    void (*nonblocking)(const struct stage_arguments *a, MPI_Request *request);
    void (*persistent)(const struct stage_arguments *a, MPI_Request *request);   /* null: this MPI has no such function */
};

extern const struct stage_collective stage_collectives[];
extern const size_t stage_collective_count;

#endif
