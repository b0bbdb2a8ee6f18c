/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arguments of a call, drawn from a seed that all ranks share: how many elements each rank sends to each, and how each
 * rank lays its buffers out.
 */
#ifndef TESTS_MPI_STAGE_PLAN_H
#define TESTS_MPI_STAGE_PLAN_H

#include <stdint.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/stage_collectives.h"
#include "tests/mpi/stage_peers.h"
#include "tests/mpi/stage_types.h"

/* What all ranks of a call have in common. */
struct stage_choice {
    const struct stage_collective *collective;
    MPI_Comm comm;
    int root;                              /* rank in MPI_COMM_WORLD */
    bool in_place;                         /* where the collective has it */
    const struct test_op *op;              /* reduces the types' predefined element; null: the user's operation, on any type */
    int most;                              /* elements of a part; many have no more than STAGE_COLUMNS */
    bool dense;                            /* no type but STAGE_DENSE */
    bool empty;                            /* no elements, null addresses */
    uint64_t seed;
};

/* Where the parts of one buffer lie, in bytes from the buffer's address. */
struct stage_plan {
    bool used;                             /* this rank's role has it, and not in place */
    bool in_place;
    int parts;
    int count[STAGE_PEERS];                /* elements */
    const struct stage_type *type[STAGE_PEERS];
    ptrdiff_t at[STAGE_PEERS];             /* the part's origin */
    ptrdiff_t low, high;                   /* data is in low <= byte < high; both 0 if there is none */
    ptrdiff_t result_high;                 /* of reduce_scatter in place: where the result ends, before `high` */
};

/* The plan as MPI takes it. */
struct stage_arrays {
    int counts[STAGE_PEERS], displs[STAGE_PEERS];
    MPI_Aint byte_displs[STAGE_PEERS];
    MPI_Datatype types[STAGE_PEERS];
};

/* A number from 0 to limit - 1 that depends on all arguments and on nothing else. */
int stage_draw(uint64_t seed, int a, int b, int limit);

void stage_plan_make(const struct stage_types *types, const struct stage_choice *choice, const struct stage_peers *peers,
                     struct stage_plan *send, struct stage_plan *recv);

/* All arguments but the addresses. The arrays must live as long as the arguments. */
void stage_plan_arguments(const struct stage_types *types, const struct stage_choice *choice, const struct stage_peers *peers,
                          const struct stage_plan *send, const struct stage_plan *recv,
                          struct stage_arrays *send_arrays, struct stage_arrays *recv_arrays, struct stage_arguments *arguments);

#endif
