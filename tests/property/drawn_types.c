/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A random type gives the number of basic elements; the other layouts are made to have as many.
 */
#include "tests/property/drawn_types.h"

#include "tests/mpi/random_types.h"

static int below(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype made;

    MPI_Type_create_resized(type, lower, extent, &made);
    MPI_Type_commit(&made);
    return made;
}

static MPI_Datatype make_dense(MPI_Datatype basic, int elements)
{
    MPI_Datatype made;

    MPI_Type_contiguous(elements, basic, &made);
    MPI_Type_commit(&made);
    return made;
}

static MPI_Datatype make_column(MPI_Datatype basic, int elements)
{
    MPI_Datatype column, made;
    MPI_Aint lower, extent;

    MPI_Type_get_extent(basic, &lower, &extent);
    MPI_Type_vector(elements, 1, STAGE_COLUMNS, basic, &column);
    made = resized(column, 0, extent);
    MPI_Type_free(&column);
    return made;
}

void drawn_types_to_move(uint64_t *state, int most, struct stage_types *types)
{
    const struct { MPI_Datatype type; } basics[] = {{MPI_BYTE}, {MPI_BYTE}, {MPI_SHORT}, {MPI_INT}, {MPI_INT}, {MPI_DOUBLE},
                                                    {MPI_C_DOUBLE_COMPLEX}, {MPI_DOUBLE_INT}, {MPI_SHORT_INT}};
    MPI_Datatype basic = basics[below(state, sizeof basics / sizeof *basics)].type, random = random_type_of(state, basic, most);
    int basic_size, size;
    MPI_Aint low, span;

    MPI_Type_size(basic, &basic_size);
    MPI_Type_size(random, &size);
    MPI_Type_get_true_extent(random, &low, &span);
    *types = (struct stage_types){.multiply = MPI_OP_NULL};
    types->type[STAGE_DENSE] = stage_type_of(make_dense(basic, size / basic_size));
    types->type[STAGE_GAPS] = stage_type_of(resized(random, low - below(state, 2), span + below(state, 20)));
    types->type[STAGE_COLUMN] = stage_type_of(make_column(basic, size / basic_size));
    types->type[STAGE_BACKWARD] = stage_type_of(resized(random, low, -span - below(state, 20)));
    MPI_Type_free(&random);
}

void drawn_types_to_reduce(uint64_t *state, struct stage_types *types, const struct test_op **op)
{
    const struct test_type *all_types;
    const struct test_op *all_ops;
    int type_count = (int)test_types(&all_types), op_count = (int)test_ops(&all_ops);

    *types = (struct stage_types){.multiply = MPI_OP_NULL, .elements = 1};
    *op = &all_ops[below(state, op_count)];
    do {
        types->element = &all_types[below(state, type_count)];
    } while (!test_allowed(types->element, *op));
    for (int i = 0; i < STAGE_TYPES; i++) {
        types->type[i] = stage_type_of(make_dense(types->element->type, 1));
    }
}
