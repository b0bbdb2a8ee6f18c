/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types, operations and values of the reduction tests. Every rank can compute every rank's contribution, so the
 * right result is folded locally by MPI_Reduce_local on host memory, which is Open MPI's own code.
 * The values are small whole numbers: every order of the reduction gives the same bits.
 */
#ifndef TESTS_MPI_VALUES_H
#define TESTS_MPI_VALUES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/mpi/harness.h"

/* How an element is laid out in memory. */
enum layout {
    LAYOUT_I8, LAYOUT_I16, LAYOUT_I32, LAYOUT_I64, LAYOUT_U8, LAYOUT_U16, LAYOUT_U32, LAYOUT_U64,
    LAYOUT_F32, LAYOUT_F64, LAYOUT_F80, LAYOUT_C32, LAYOUT_C64, LAYOUT_C80,
    LAYOUT_FLOAT_INT, LAYOUT_DOUBLE_INT, LAYOUT_LONG_INT, LAYOUT_INT_INT, LAYOUT_SHORT_INT, LAYOUT_F80_INT,
    LAYOUT_FLOAT_FLOAT, LAYOUT_DOUBLE_DOUBLE
};

struct test_type {
    const char *name;
    MPI_Datatype type;
    enum layout layout;
    size_t bytes;              /* its extent */
    unsigned groups;           /* of operations: GROUP_… */
};

enum {
    GROUP_ORDER = 1,           /* MAX, MIN */
    GROUP_ARITHMETIC = 2,      /* SUM, PROD */
    GROUP_LOGICAL = 4,
    GROUP_BITWISE = 8,
    GROUP_PLACE = 16           /* MAXLOC, MINLOC */
};

struct test_op {
    const char *name;
    MPI_Op op;
    unsigned group;
};

/* All predefined types and operations of MPI-3.1 §5.9.2 and §5.9.4 that this MPI has. */
size_t test_types(const struct test_type **types);
size_t test_ops(const struct test_op **ops);

static inline bool test_allowed(const struct test_type *type, const struct test_op *op)
{
    return (type->groups & op->group) != 0;
}

/* Null if there is none of this MPI name ("MPI_FLOAT"). */
const struct test_type *test_type_find(const char *name);
const struct test_op *test_op_find(const char *name);

/* The contribution of one rank. */
void values_fill(const struct test_type *type, const struct test_op *op, int rank, int ranks, uint64_t seed, size_t count,
                 void *elements);

/* What a reduction of the contributions of ranks 0 .. folded - 1 (of `ranks`) must give. */
void values_expect(struct harness *h, const struct test_type *type, const struct test_op *op, int ranks, int folded,
                   uint64_t seed, size_t count, void *expected);

/* Index of the first element that differs in value (padding is not compared), or count. */
size_t values_differ(const struct test_type *type, const void *a, const void *b, size_t count);

/* A small generator with a state of its own; never the same bits for the same state twice in 2^64. */
uint64_t random_next(uint64_t *state);

#endif
