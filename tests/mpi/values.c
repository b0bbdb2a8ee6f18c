/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types, operations, values and expected results of the reduction tests.
 */
#include "tests/mpi/values.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

struct float_int { float value; int place; };
struct double_int { double value; int place; };
struct long_int { long value; int place; };
struct int_int { int value; int place; };
struct short_int { short value; int place; };
struct f80_int { long double value; int place; };
struct float_float { float value; float place; };
struct double_double { double value; double place; };

#define C_INTEGER (GROUP_ORDER | GROUP_ARITHMETIC | GROUP_LOGICAL | GROUP_BITWISE)
#define F_INTEGER (GROUP_ORDER | GROUP_ARITHMETIC | GROUP_BITWISE)
#define FLOATING (GROUP_ORDER | GROUP_ARITHMETIC)
#define TYPE(mpi, layout, c, groups) { #mpi, mpi, layout, sizeof(c), groups }

/* Open MPI's handles are addresses that the loader fixes, so a table of them may be constant. */
static const struct test_type types[] = {
    TYPE(MPI_SIGNED_CHAR, LAYOUT_I8, int8_t, C_INTEGER), TYPE(MPI_UNSIGNED_CHAR, LAYOUT_U8, uint8_t, C_INTEGER),
    TYPE(MPI_SHORT, LAYOUT_I16, short, C_INTEGER), TYPE(MPI_UNSIGNED_SHORT, LAYOUT_U16, unsigned short, C_INTEGER),
    TYPE(MPI_INT, LAYOUT_I32, int, C_INTEGER), TYPE(MPI_UNSIGNED, LAYOUT_U32, unsigned, C_INTEGER),
    TYPE(MPI_LONG, LAYOUT_I64, int64_t, C_INTEGER), TYPE(MPI_UNSIGNED_LONG, LAYOUT_U64, uint64_t, C_INTEGER),
    TYPE(MPI_LONG_LONG, LAYOUT_I64, int64_t, C_INTEGER), TYPE(MPI_UNSIGNED_LONG_LONG, LAYOUT_U64, uint64_t, C_INTEGER),
    TYPE(MPI_INT8_T, LAYOUT_I8, int8_t, C_INTEGER), TYPE(MPI_UINT8_T, LAYOUT_U8, uint8_t, C_INTEGER),
    TYPE(MPI_INT16_T, LAYOUT_I16, int16_t, C_INTEGER), TYPE(MPI_UINT16_T, LAYOUT_U16, uint16_t, C_INTEGER),
    TYPE(MPI_INT32_T, LAYOUT_I32, int32_t, C_INTEGER), TYPE(MPI_UINT32_T, LAYOUT_U32, uint32_t, C_INTEGER),
    TYPE(MPI_INT64_T, LAYOUT_I64, int64_t, C_INTEGER), TYPE(MPI_UINT64_T, LAYOUT_U64, uint64_t, C_INTEGER),
    TYPE(MPI_AINT, LAYOUT_I64, int64_t, C_INTEGER), TYPE(MPI_OFFSET, LAYOUT_I64, int64_t, C_INTEGER),
    TYPE(MPI_COUNT, LAYOUT_I64, int64_t, C_INTEGER),
    TYPE(MPI_FLOAT, LAYOUT_F32, float, FLOATING), TYPE(MPI_DOUBLE, LAYOUT_F64, double, FLOATING),
    TYPE(MPI_LONG_DOUBLE, LAYOUT_F80, long double, FLOATING),
    TYPE(MPI_C_FLOAT_COMPLEX, LAYOUT_C32, float complex, GROUP_ARITHMETIC),
    TYPE(MPI_C_DOUBLE_COMPLEX, LAYOUT_C64, double complex, GROUP_ARITHMETIC),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, LAYOUT_C80, long double complex, GROUP_ARITHMETIC),
    TYPE(MPI_C_BOOL, LAYOUT_U8, _Bool, GROUP_LOGICAL), TYPE(MPI_CXX_BOOL, LAYOUT_U8, _Bool, GROUP_LOGICAL),
    TYPE(MPI_BYTE, LAYOUT_U8, uint8_t, GROUP_BITWISE),
    TYPE(MPI_FLOAT_INT, LAYOUT_FLOAT_INT, struct float_int, GROUP_PLACE),
    TYPE(MPI_DOUBLE_INT, LAYOUT_DOUBLE_INT, struct double_int, GROUP_PLACE),
    TYPE(MPI_LONG_INT, LAYOUT_LONG_INT, struct long_int, GROUP_PLACE),
    TYPE(MPI_2INT, LAYOUT_INT_INT, struct int_int, GROUP_PLACE),
    TYPE(MPI_SHORT_INT, LAYOUT_SHORT_INT, struct short_int, GROUP_PLACE),
    TYPE(MPI_LONG_DOUBLE_INT, LAYOUT_F80_INT, struct f80_int, GROUP_PLACE),
    TYPE(MPI_INTEGER, LAYOUT_I32, int32_t, F_INTEGER), TYPE(MPI_REAL, LAYOUT_F32, float, FLOATING),
    TYPE(MPI_DOUBLE_PRECISION, LAYOUT_F64, double, FLOATING), TYPE(MPI_COMPLEX, LAYOUT_C32, float complex, GROUP_ARITHMETIC),
    TYPE(MPI_DOUBLE_COMPLEX, LAYOUT_C64, double complex, GROUP_ARITHMETIC), TYPE(MPI_LOGICAL, LAYOUT_I32, int32_t, GROUP_LOGICAL),
    TYPE(MPI_2INTEGER, LAYOUT_INT_INT, struct int_int, GROUP_PLACE),
    TYPE(MPI_2REAL, LAYOUT_FLOAT_FLOAT, struct float_float, GROUP_PLACE),
    TYPE(MPI_2DOUBLE_PRECISION, LAYOUT_DOUBLE_DOUBLE, struct double_double, GROUP_PLACE),
};

#define OP(mpi, group) { #mpi, mpi, group }

static const struct test_op ops[] = {
    OP(MPI_MAX, GROUP_ORDER), OP(MPI_MIN, GROUP_ORDER), OP(MPI_SUM, GROUP_ARITHMETIC), OP(MPI_PROD, GROUP_ARITHMETIC),
    OP(MPI_LAND, GROUP_LOGICAL), OP(MPI_LOR, GROUP_LOGICAL), OP(MPI_LXOR, GROUP_LOGICAL),
    OP(MPI_BAND, GROUP_BITWISE), OP(MPI_BOR, GROUP_BITWISE), OP(MPI_BXOR, GROUP_BITWISE),
    OP(MPI_MAXLOC, GROUP_PLACE), OP(MPI_MINLOC, GROUP_PLACE),
};

size_t test_types(const struct test_type **first)
{
    *first = types;
    return sizeof types / sizeof *types;
}

size_t test_ops(const struct test_op **first)
{
    *first = ops;
    return sizeof ops / sizeof *ops;
}

const struct test_type *test_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

const struct test_op *test_op_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;      /* the golden ratio's bits: a Weyl sequence */

    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    return z ^ z >> 32;
}

static void element_set(const struct test_type *type, char *to, long value, long place)
{
    switch (type->layout) {
#define SET(c) do { c element = (c)value; memcpy(to, &element, sizeof element); } while (0)
    case LAYOUT_I8: case LAYOUT_U8: SET(uint8_t); break;
    case LAYOUT_I16: case LAYOUT_U16: SET(uint16_t); break;
    case LAYOUT_I32: case LAYOUT_U32: SET(uint32_t); break;
    case LAYOUT_I64: case LAYOUT_U64: SET(uint64_t); break;
    case LAYOUT_F32: SET(float); break;
    case LAYOUT_F64: SET(double); break;
    case LAYOUT_F80: SET(long double); break;
#undef SET
#define SET_PARTS(c) do { c element[2] = { (c)value, (c)place }; memcpy(to, element, sizeof element); } while (0)
    case LAYOUT_C32: case LAYOUT_FLOAT_FLOAT: SET_PARTS(float); break;
    case LAYOUT_C64: case LAYOUT_DOUBLE_DOUBLE: SET_PARTS(double); break;
    case LAYOUT_C80: SET_PARTS(long double); break;
#undef SET_PARTS
#define SET_PAIR(c) do { struct c element; memset(&element, 0, sizeof element); element.value = value; element.place = place; \
                         memcpy(to, &element, sizeof element); } while (0)
    case LAYOUT_FLOAT_INT: SET_PAIR(float_int); break;
    case LAYOUT_DOUBLE_INT: SET_PAIR(double_int); break;
    case LAYOUT_LONG_INT: SET_PAIR(long_int); break;
    case LAYOUT_INT_INT: SET_PAIR(int_int); break;
    case LAYOUT_SHORT_INT: SET_PAIR(short_int); break;
    case LAYOUT_F80_INT: SET_PAIR(f80_int); break;
#undef SET_PAIR
    }
}

static void element_get(const struct test_type *type, const char *from, long double parts[2])
{
    parts[1] = 0;
    switch (type->layout) {
#define GET(c) do { c element; memcpy(&element, from, sizeof element); parts[0] = element; } while (0)
    case LAYOUT_I8: GET(int8_t); break;
    case LAYOUT_I16: GET(int16_t); break;
    case LAYOUT_I32: GET(int32_t); break;
    case LAYOUT_I64: GET(int64_t); break;
    case LAYOUT_U8: GET(uint8_t); break;
    case LAYOUT_U16: GET(uint16_t); break;
    case LAYOUT_U32: GET(uint32_t); break;
    case LAYOUT_U64: GET(uint64_t); break;
    case LAYOUT_F32: GET(float); break;
    case LAYOUT_F64: GET(double); break;
    case LAYOUT_F80: GET(long double); break;
#undef GET
#define GET_PARTS(c) do { c element[2]; memcpy(element, from, sizeof element); parts[0] = element[0]; parts[1] = element[1]; } \
    while (0)
    case LAYOUT_C32: case LAYOUT_FLOAT_FLOAT: GET_PARTS(float); break;
    case LAYOUT_C64: case LAYOUT_DOUBLE_DOUBLE: GET_PARTS(double); break;
    case LAYOUT_C80: GET_PARTS(long double); break;
#undef GET_PARTS
#define GET_PAIR(c) do { struct c element; memcpy(&element, from, sizeof element); parts[0] = element.value; \
                         parts[1] = element.place; } while (0)
    case LAYOUT_FLOAT_INT: GET_PAIR(float_int); break;
    case LAYOUT_DOUBLE_INT: GET_PAIR(double_int); break;
    case LAYOUT_LONG_INT: GET_PAIR(long_int); break;
    case LAYOUT_INT_INT: GET_PAIR(int_int); break;
    case LAYOUT_SHORT_INT: GET_PAIR(short_int); break;
    case LAYOUT_F80_INT: GET_PAIR(f80_int); break;
#undef GET_PAIR
    }
}

/* The largest amount of a summand. */
static long summand_limit(enum layout layout)
{
    switch (layout) {
    case LAYOUT_I8: case LAYOUT_U8: return 1;
    case LAYOUT_I16: case LAYOUT_U16: return 500;
    default: return 100000;
    }
}

/* A value that no order of the reduction can round or overflow, in any of the types, for up to 64 ranks. */
static long value_for(const struct test_type *type, const struct test_op *op, int rank, int ranks, uint64_t bits)
{
    bool is_unsigned = (type->layout >= LAYOUT_U8 && type->layout <= LAYOUT_U64);
    long limit;

    switch (op->group) {
    case GROUP_BITWISE: return (long)bits;
    case GROUP_LOGICAL: return bits % 5 != 0;
    case GROUP_PLACE: return bits % 4;
    case GROUP_ORDER: return is_unsigned ? (long)(bits % 120) : (long)(bits % 239) - 119;
    default: break;
    }
    if (op->op == MPI_PROD) {     /* a factor of 2 from one rank only */
        return bits / 8 % ranks == (unsigned)rank && bits % 8 == 0 ? 2 : is_unsigned || bits % 3 ? 1 : -1;
    }
    limit = summand_limit(type->layout);
    return is_unsigned ? (long)(bits % (unsigned long)(limit + 1)) : (long)(bits % (unsigned long)(2 * limit + 1)) - limit;
}

void values_fill(const struct test_type *type, const struct test_op *op, int rank, int ranks, uint64_t seed, size_t count,
                 void *elements)
{
    uint64_t state = seed + (uint64_t)rank * 0x100000001b3u;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_next(&state);
        long place = op->group == GROUP_PLACE ? rank : op->op == MPI_PROD ? 0 : (long)(bits / 16 % 3) - 1;

        element_set(type, (char *)elements + i * type->bytes, value_for(type, op, rank, ranks, bits), place);
    }
}

void values_expect(struct harness *h, const struct test_type *type, const struct test_op *op, int ranks, int folded,
                   uint64_t seed, size_t count, void *expected)
{
    void *one = host_alloc(h, count * type->bytes);

    values_fill(type, op, 0, ranks, seed, count, expected);
    for (int rank = 1; rank < folded; rank++) {
        values_fill(type, op, rank, ranks, seed, count, one);
        MPI_Reduce_local(one, expected, (int)count, type->type, op->op);
    }
    free(one);
}

size_t values_differ(const struct test_type *type, const void *a, const void *b, size_t count)
{
    if (memcmp(a, b, count * type->bytes) == 0) {
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        long double x[2], y[2];

        element_get(type, (const char *)a + i * type->bytes, x);
        element_get(type, (const char *)b + i * type->bytes, y);
        if (!(x[0] == y[0] && x[1] == y[1])) {
            return i;
        }
    }
    return count;
}
