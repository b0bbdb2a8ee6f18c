/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call of a collective, twice: on buffers in memory of any kind, and on host buffers with the same contents. Afterwards every
 * byte of the buffers must be the same, in gaps, in what is not to be written and around the data too.
 *
 *   stage_case_create    draws counts, displacements, types and contents, the same sizes on all ranks
 *   stage_case_start …   runs the call in one form on the tested buffers, or on the reference buffers
 *   stage_case_check     compares
 *   stage_case_free
 */
#ifndef TESTS_MPI_STAGE_CASE_H
#define TESTS_MPI_STAGE_CASE_H

#include <stdint.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/stage_collectives.h"
#include "tests/mpi/stage_types.h"

enum { STAGE_PEERS = 16 };     /* at most so many parts */

/* Where one buffer's parts lie. */
struct stage_plan {
    bool significant, in_place;
    int parts;
    int count[STAGE_PEERS];                          /* elements */
    const struct stage_type *type[STAGE_PEERS];
    ptrdiff_t at[STAGE_PEERS];                       /* of the part's origin, in ints from the buffer's address */
    ptrdiff_t low, high;                             /* ints that data occupies: low <= i < high */
};

/* The memory of one buffer with a margin on both sides. */
struct stage_memory {
    enum gpufifo_memory kind;
    char *block;
    size_t bytes;
    void *address;                                   /* for MPI */
};

/* Which memory the tested buffers get. */
struct stage_kinds {
    enum gpufifo_memory send, recv;
};

/* Everything that all ranks of one case share, and the memory of this rank's. */
struct stage_choice {
    const struct stage_collective *collective;
    MPI_Comm comm;
    int root;                                        /* a rank; on intercommunicators of MPI_COMM_WORLD's */
    bool in_place;
    bool multiply;                                   /* reductions: by the user's operation on any type, or MPI_SUM on ints */
    bool empty;                                      /* no elements at all, null addresses */
    uint64_t seed;                                   /* the same on all ranks */
    struct stage_kinds kinds;
};

struct stage_case {
    struct harness *h;
    const struct stage_types *types;
    struct stage_choice choice;
    struct stage_plan send_plan, recv_plan;
    struct stage_memory send, recv;                  /* tested */
    struct stage_memory send_reference, recv_reference;
    struct stage_arguments arguments, reference;
    int counts[2][STAGE_PEERS], displs[2][STAGE_PEERS];
    MPI_Aint byte_displs[2][STAGE_PEERS];
    MPI_Datatype handles[2][STAGE_PEERS];
};

void stage_case_create(struct harness *h, const struct stage_types *types, const struct stage_choice *choice, struct stage_case *c);

/* New contents, the same in tested and reference buffers; create has done it once. */
void stage_case_fill(struct stage_case *c, uint64_t seed);

void stage_case_check(struct stage_case *c, const char *form);
void stage_case_free(struct stage_case *c);

#endif
