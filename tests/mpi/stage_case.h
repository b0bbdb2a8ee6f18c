/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call of a collective, twice: on buffers in memory of any kind, and on host buffers with the same contents. Afterwards every
 * byte of the buffers must be the same: data, gaps in it, what is not to be written, and a margin around. What lies in gaps may
 * also be as it was, for some of Open MPI's own algorithms write there. Reductions by predefined operations get values for which
 * every order gives the same bits.
 */
#ifndef TESTS_MPI_STAGE_CASE_H
#define TESTS_MPI_STAGE_CASE_H

#include "tests/mpi/stage_memory.h"
#include "tests/mpi/stage_plan.h"

/* Where this rank's buffers are. */
struct stage_place {
    enum gpufifo_memory send, recv;
    size_t send_shift, recv_shift;         /* bytes off an alignment of 256; multiples of what the types need */
    struct stage_store *store;             /* to take memory from and to give it to; null: it comes and goes */
};

/* The memory of one buffer. */
struct stage_memory {
    struct stage_block block;              /* its address is null where this rank's role has no such buffer */
    size_t bytes;                          /* of the block, that belong to this call */
    void *address;                         /* for MPI: somewhere in the block, or outside */
};

struct stage_case {
    struct harness *h;
    const struct stage_types *types;
    struct stage_choice choice;
    struct stage_place place;
    struct stage_plan send_plan, recv_plan;
    struct stage_memory send, recv;        /* tested */
    struct stage_memory send_reference, recv_reference;
    struct stage_arguments tested, reference;
    struct stage_arrays send_arrays, recv_arrays;
    char *recv_before;                     /* contents of recv's block before the call */
    char *recv_is_data;                    /* of recv's block: 0: a byte that is none of the receive buffer's data */
    size_t recv_compared;                  /* bytes from the start of the block */
};

/* Draws everything from the choice and allocates. The case must stay where it is, and the types until it is freed. */
void stage_case_create(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                       const struct stage_place *place, struct stage_case *c);

/* Contents by the seed, the same in tested and reference buffers. create has done it once. */
void stage_case_fill(struct stage_case *c, uint64_t seed);

/* Counts one check a buffer; false if one failed. form: for the message. */
bool stage_case_check(struct stage_case *c, const char *form);

/* Overwrites what this rank has sent, as a program may as soon as its call is complete, and says so to the check: is anybody
 * still fetching it? */
void stage_case_spoil(struct stage_case *c);
void stage_case_free(struct stage_case *c);

/* Completes all requests; how: which of STAGE_WAYS functions does it. */
enum { STAGE_WAYS = 4, STAGE_REQUESTS = 16 };      /* at most so many */
void stage_complete(int count, MPI_Request *requests, int how);

/* Creates, runs, checks and frees; a persistent call is started twice, with new contents. */
enum stage_form { STAGE_BLOCKING, STAGE_NONBLOCKING, STAGE_PERSISTENT, STAGE_FORMS };
void stage_case_run(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                    const struct stage_place *place, enum stage_form form);

#endif
