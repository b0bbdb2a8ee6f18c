/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes of six ints, and a matrix product on them.
 */
#include "tests/mpi/stage_types.h"

#include <stddef.h>

enum { INTS = 6 };

/* Where the ints of an element lie, and its extent, in ints. */
struct layout_of_ints { int at[INTS], extent; };

static const struct layout_of_ints layouts[STAGE_TYPES] = {
    [STAGE_DENSE] = {.at = {0, 1, 2, 3, 4, 5}, .extent = 6},
    [STAGE_GAPS] = {.at = {0, 1, 2, 5, 6, 7}, .extent = 11},
    [STAGE_COLUMN] = {.at = {0, 4, 8, 12, 16, 20}, .extent = 1},
    [STAGE_BACKWARD] = {.at = {3, 4, 6, 7, 9, 10}, .extent = -12},
};

/* For the user's operation, which gets nothing but a handle of the datatype. */
static const struct stage_types *current;

static MPI_Datatype make_type(const struct layout_of_ints *layout)
{
    MPI_Datatype ints, resized;

    MPI_Type_create_indexed_block(INTS, 1, layout->at, MPI_INT, &ints);
    MPI_Type_create_resized(ints, 0, layout->extent * (MPI_Aint)sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&ints);
    return resized;
}

static const struct layout_of_ints *find(MPI_Datatype handle)
{
    for (int i = 0; i < STAGE_TYPES; i++) {
        if (current->type[i].type == handle) {
            return &layouts[i];
        }
    }
    MPI_Abort(MPI_COMM_WORLD, 3);
    return NULL;
}

/* b = a ∘ b, in unsigned arithmetic: it may wrap. */
static void multiply_one(const unsigned *a, unsigned *b, const int *at)
{
    unsigned x[INTS], y[INTS];

    for (int i = 0; i < INTS; i++) {
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
    const struct layout_of_ints *layout = find(*handle);

    for (int i = 0; i < *count; i++) {
        ptrdiff_t origin = (ptrdiff_t)i * layout->extent;
        multiply_one((const unsigned *)in + origin, (unsigned *)inout + origin, layout->at);
    }
}

struct stage_type stage_type_of(MPI_Datatype type)
{
    struct stage_type of = {.type = type};
    MPI_Aint lower, span;

    MPI_Type_get_extent(type, &lower, &of.extent);
    MPI_Type_get_true_extent(type, &of.low, &span);
    of.high = of.low + span;
    return of;
}

void stage_types_create(struct stage_types *types)
{
    *types = (struct stage_types){.element = test_type_find("MPI_INT"), .elements = INTS};
    for (int i = 0; i < STAGE_TYPES; i++) {
        types->type[i] = stage_type_of(make_type(&layouts[i]));
    }
    MPI_Op_create(multiply, 0, &types->multiply);
    current = types;
}

void stage_types_free(struct stage_types *types)
{
    for (int i = 0; i < STAGE_TYPES; i++) {
        MPI_Type_free(&types->type[i].type);
    }
    if (types->multiply != MPI_OP_NULL) {
        MPI_Op_free(&types->multiply);
        current = NULL;
    }
}
