/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes of six ints, and a matrix product on them.
 */
#include "tests/mpi/stage_types.h"

#include <stddef.h>

/* For the user's operation, which gets nothing but a handle of the datatype. */
static const struct stage_types *current;

static MPI_Datatype make_type(const struct stage_type *type)
{
    MPI_Datatype ints, resized;
    int lengths[STAGE_INTS] = {1, 1, 1, 1, 1, 1};

    MPI_Type_indexed(STAGE_INTS, lengths, type->at, MPI_INT, &ints);
    MPI_Type_create_resized(ints, 0, type->extent * (MPI_Aint)sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&ints);
    return resized;
}

static const struct stage_type *find(MPI_Datatype handle)
{
    for (int i = 0; i < STAGE_TYPES; i++) {
        if (current->type[i].type == handle) {
            return &current->type[i];
        }
    }
    MPI_Abort(MPI_COMM_WORLD, 3);
    return NULL;
}

/* b = a ∘ b, in unsigned arithmetic: it may wrap. */
static void multiply_one(const unsigned *a, unsigned *b, const int *at)
{
    unsigned x[STAGE_INTS], y[STAGE_INTS];

    for (int i = 0; i < STAGE_INTS; i++) {
        x[i] = a[at[i]];
        y[i] = b[at[i]];
    }
    b[at[0]] = x[0] * y[0] + x[1] * y[2];
    b[at[1]] = x[0] * y[1] + x[1] * y[3];
    b[at[2]] = x[2] * y[0] + x[3] * y[2];
    b[at[3]] = x[2] * y[1] + x[3] * y[3];
    b[at[4]] = x[4] + y[4];
    b[at[5]] = x[5] + y[5];
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *handle)
{
    const struct stage_type *type = find(*handle);

    for (int i = 0; i < *count; i++) {
        ptrdiff_t origin = (ptrdiff_t)i * type->extent;
        multiply_one((const unsigned *)in + origin, (unsigned *)inout + origin, type->at);
    }
}

void stage_types_create(struct stage_types *types)
{
    *types = (struct stage_types){
        .type = {
            [STAGE_DENSE] = {.at = {0, 1, 2, 3, 4, 5}, .extent = 6},
            [STAGE_GAPS] = {.at = {0, 1, 2, 5, 6, 7}, .extent = 11},
            [STAGE_COLUMN] = {.at = {0, 4, 8, 12, 16, 20}, .extent = 1},
            [STAGE_BACKWARD] = {.at = {3, 4, 6, 7, 9, 10}, .extent = -12},
        },
    };
    for (int i = 0; i < STAGE_TYPES; i++) {
        types->type[i].type = make_type(&types->type[i]);
    }
    MPI_Op_create(multiply, 0, &types->multiply);
    current = types;
}

void stage_types_free(struct stage_types *types)
{
    for (int i = 0; i < STAGE_TYPES; i++) {
        MPI_Type_free(&types->type[i].type);
    }
    MPI_Op_free(&types->multiply);
    current = NULL;
}
