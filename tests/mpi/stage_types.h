/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes for the tests of staging. An element of each has the same basic types in the same order, so that any may be sent and
 * any other received; they differ in where these lie.
 */
#ifndef TESTS_MPI_STAGE_TYPES_H
#define TESTS_MPI_STAGE_TYPES_H

#include <mpi.h>

#include "tests/mpi/values.h"

enum { STAGE_COLUMNS = 4 };

enum stage_type_name {
    STAGE_DENSE,               /* no gaps */
    STAGE_GAPS,                /* gaps between and behind the data */
    STAGE_COLUMN,              /* a column of a matrix; extent one basic element: up to four elements interleave */
    STAGE_BACKWARD,            /* gaps, a positive lower bound and a negative extent */
    STAGE_TYPES
};

struct stage_type {
    MPI_Datatype type;
    MPI_Aint low, high;        /* data is in low <= byte < high of an element, from its origin */
    MPI_Aint extent;
};

struct stage_types {
    struct stage_type type[STAGE_TYPES];
    const struct test_type *element;   /* what predefined operations reduce: so many of these are one of the dense type */
    int elements;
    MPI_Op multiply;           /* reduces any of the types; MPI_OP_NULL: there is none */
};

/* Takes a committed type, and frees it by stage_types_free. */
struct stage_type stage_type_of(MPI_Datatype type);

/* Of six ints; `multiply` takes the first four as 2 x 2 matrices and adds the others: a ∘ b ≠ b ∘ a. One may live at a time: MPI
 * gives a user's operation no argument to find it by. */
void stage_types_create(struct stage_types *types);
void stage_types_free(struct stage_types *types);

#endif
