/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that move blocks, as random numbers tell: which one, counts, types and places; and what must be in both buffers
 * before and after.
 */
#ifndef TESTS_MPI_EXCHANGE_CALL_H
#define TESTS_MPI_EXCHANGE_CALL_H

#include "tests/mpi/values.h"

enum { EXCHANGE_PEERS = 16, EXCHANGE_TYPES = 8 };

enum exchange_form { EXCHANGE_BLOCKING, EXCHANGE_NONBLOCKING, EXCHANGE_PERSISTENT };

enum exchange_what {
    ALLTOALL, ALLTOALLV, ALLTOALLW, ALLGATHER, ALLGATHERV, BCAST, GATHER, GATHERV, SCATTER, SCATTERV,
    NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV,
    EXCHANGE_WHATS
};

/* Whom this rank has parts for, or from, in MPI's order. MPI_PROC_NULL: a part that is not used. */
struct exchange_peers {
    int count, rank[EXCHANGE_PEERS];
};

/* Elements of as much data, in two layouts. */
struct exchange_type {
    MPI_Datatype types[2];
    int extents[2], size;          /* bytes */
};

/* What calls are drawn from. */
struct exchange_source {
    struct harness *h;
    struct exchange_type types[EXCHANGE_TYPES];
    uint64_t common, own;          /* random numbers: of all ranks, and of this one */
    int most;                      /* elements of a part */
    enum exchange_form form;       /* of the calls */
    MPI_Comm comm;
    int rank, ranks;               /* in comm */
    bool neighbours;               /* comm has a topology: only calls among neighbours */
    struct exchange_peers to, from;
    int edges[EXCHANGE_PEERS][EXCHANGE_PEERS];       /* from, to: is there a part? */
    uint64_t call;
};

/* One side of a call: a part a peer, in elements from the buffer's address. */
struct exchange_side {
    const struct exchange_peers *peers;
    MPI_Datatype type;
    int extent;                    /* of an element */
    int count[EXCHANGE_PEERS], at[EXCHANGE_PEERS];
    int elements;                  /* that the buffer must have */
};

struct exchange_call {
    enum exchange_what what;
    bool send_in_place, recv_in_place;     /* on this rank */
    int root;
    int size;                      /* bytes of data of an element */
    int equal;                     /* elements of each part, where that is one argument */
    int counts[EXCHANGE_PEERS][EXCHANGE_PEERS];      /* from, to */
    struct exchange_side send, recv;
};

int exchange_draw(uint64_t *state, int limit);

/* Predefined types, and derived ones with gaps and without. */
void exchange_make_types(struct exchange_source *source);
void exchange_free_types(struct exchange_source *source);

/* The communicator of the next calls: of all with all, or, where it has a topology, among neighbours. Collective over it. */
void exchange_enter(struct exchange_source *source, MPI_Comm comm);

/* The next call: the same on all ranks, but for where its parts lie. Some ranks may have no data at all. */
void exchange_draw_call(struct exchange_source *source, struct exchange_call *call);

const char *exchange_name(const struct exchange_call *call);

/* Is there only one buffer, which MPI calls neither? It is recv here. */
static inline bool exchange_has_one_buffer(const struct exchange_call *call) { return call->what == BCAST; }

/* What the buffers hold before the call, and the receive buffer after it. */
void exchange_fill_send(const struct exchange_source *source, const struct exchange_call *call, unsigned char *image,
                        size_t bytes);
void exchange_fill_recv(const struct exchange_source *source, const struct exchange_call *call, unsigned char *image,
                        size_t bytes);
void exchange_expect_recv(const struct exchange_source *source, const struct exchange_call *call, unsigned char *image);

/* Makes the call and waits for its end (exchange_run.c). Null pointers are right where this rank has no data. */
void exchange_run(const struct exchange_source *source, const struct exchange_call *call, void *send, void *recv);

#endif
