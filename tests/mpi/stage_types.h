/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes for the tests of staging. An element of each is six ints, so that any may be sent and any other received; they
 * differ in where the ints lie. And a reduction on them that is not commutative.
 */
#ifndef TESTS_MPI_STAGE_TYPES_H
#define TESTS_MPI_STAGE_TYPES_H

#include <mpi.h>

enum { STAGE_INTS = 6, STAGE_COLUMNS = 4 };

enum stage_type_name {
    STAGE_DENSE,               /* no gaps */
    STAGE_GAPS,                /* two runs of three with gaps between and behind them */
    STAGE_COLUMN,              /* a column of a 6 x 4 matrix; extent one int: up to four elements interleave */
    STAGE_BACKWARD,            /* gaps, a positive lower bound and a negative extent */
    STAGE_TYPES
};

struct stage_type {
    MPI_Datatype type;
    int at[STAGE_INTS];        /* index of each int, relative to the element's origin */
    int extent;                /* in ints */
};

/* One a program. */
struct stage_types {
    struct stage_type type[STAGE_TYPES];
    MPI_Op multiply;           /* the first four ints as 2 x 2 matrices, the others added; a ∘ b ≠ b ∘ a */
};

/* Only one may live at a time: MPI gives a user's operation no argument to find it by. */
void stage_types_create(struct stage_types *types);
void stage_types_free(struct stage_types *types);

#endif
