/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call of a collective, twice: on buffers in memory of any kind, and on host buffers with the same contents. Afterwards every
 * byte of the buffers must be the same: data, gaps in it, what is not to be written, and a margin around.
 */
#ifndef TESTS_MPI_STAGE_CASE_H
#define TESTS_MPI_STAGE_CASE_H

#include "tests/mpi/stage_plan.h"

/* The memory of one buffer. */
struct stage_memory {
    enum gpufifo_memory kind;
    char *block;                           /* null where this rank's role has no such buffer */
    size_t bytes;
    void *address;                         /* for MPI: somewhere in the block, or outside */
};

struct stage_case {
    struct harness *h;
    struct stage_choice choice;
    struct stage_plan send_plan, recv_plan;
    struct stage_memory send, recv;        /* tested */
    struct stage_memory send_reference, recv_reference;
    struct stage_arguments tested, reference;
    struct stage_arrays send_arrays, recv_arrays;
    size_t recv_compared;                  /* bytes from the start of the block */
};

/* Draws everything from the choice and allocates; kinds are this rank's. The case must stay where it is. */
void stage_case_create(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                       enum gpufifo_memory send_kind, enum gpufifo_memory recv_kind, struct stage_case *c);

/* Contents by the seed, the same in tested and reference buffers. create has done it once. */
void stage_case_fill(struct stage_case *c, uint64_t seed);

/* Counts one check a buffer. form: for the message. */
void stage_case_check(struct stage_case *c, const char *form);
void stage_case_free(struct stage_case *c);

/* Creates, runs, checks and frees; a persistent call is started twice, with new contents. */
enum stage_form { STAGE_BLOCKING, STAGE_NONBLOCKING, STAGE_PERSISTENT, STAGE_FORMS };
void stage_case_run(struct harness *h, const struct stage_types *types, const struct stage_choice *choice,
                    enum gpufifo_memory send_kind, enum gpufifo_memory recv_kind, enum stage_form form);

#endif
