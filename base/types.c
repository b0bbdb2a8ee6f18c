/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One table says what each element type is; the rules about operations follow from its class.
 */
#include "base/types.h"

enum type_class { INTEGER, FLOATING, COMPLEX, LOGICAL, BYTE, PAIR };

/* Sets of operations, one bit each. */
#define BIT(op) (1u << (op))
enum {
    ORDER = BIT(GF_MAX) | BIT(GF_MIN),
    ARITHMETIC = BIT(GF_SUM) | BIT(GF_PROD),
    LOGIC = BIT(GF_LAND) | BIT(GF_LOR) | BIT(GF_LXOR),
    BITWISE = BIT(GF_BAND) | BIT(GF_BOR) | BIT(GF_BXOR),
    LOCATION = BIT(GF_MAXLOC) | BIT(GF_MINLOC),
    ANY = BIT(GF_REPLACE) | BIT(GF_NO_OP)
};

static const unsigned allowed[] = {
    [INTEGER] = ANY | ORDER | ARITHMETIC | LOGIC | BITWISE,
    [FLOATING] = ANY | ORDER | ARITHMETIC,
    [COMPLEX] = ANY | ARITHMETIC,
    [LOGICAL] = ANY | LOGIC,
    [BYTE] = ANY | BITWISE,
    [PAIR] = ANY | LOCATION,
};

/* MPI's C pair types, whose padding the compiler decides. */
struct float_int { float value; int index; };
struct double_int { double value; int index; };
struct long_int { long value; int index; };
struct int_int { int value, index; };
struct short_int { short value; int index; };
struct long_double_int { long double value; int index; };
struct float_float { float value, index; };
struct double_double { double value, index; };

struct type_info {
    const char *name;
    size_t size;
    enum type_class class;
    bool host_only;
};

static const struct type_info types[GF_TYPE_COUNT] = {
    [GF_INT8] = { "int8", sizeof(int8_t), INTEGER, false },
    [GF_UINT8] = { "uint8", sizeof(uint8_t), INTEGER, false },
    [GF_INT16] = { "int16", sizeof(int16_t), INTEGER, false },
    [GF_UINT16] = { "uint16", sizeof(uint16_t), INTEGER, false },
    [GF_INT32] = { "int32", sizeof(int32_t), INTEGER, false },
    [GF_UINT32] = { "uint32", sizeof(uint32_t), INTEGER, false },
    [GF_INT64] = { "int64", sizeof(int64_t), INTEGER, false },
    [GF_UINT64] = { "uint64", sizeof(uint64_t), INTEGER, false },
    [GF_FLOAT] = { "float", sizeof(float), FLOATING, false },
    [GF_DOUBLE] = { "double", sizeof(double), FLOATING, false },
    [GF_LONG_DOUBLE] = { "long double", sizeof(long double), FLOATING, true },
    [GF_FLOAT_COMPLEX] = { "float complex", sizeof(float _Complex), COMPLEX, false },
    [GF_DOUBLE_COMPLEX] = { "double complex", sizeof(double _Complex), COMPLEX, false },
    [GF_LONG_DOUBLE_COMPLEX] = { "long double complex", sizeof(long double _Complex), COMPLEX, true },
    [GF_BOOL] = { "bool", sizeof(bool), LOGICAL, false },
    [GF_LOGICAL8] = { "logical8", 1, LOGICAL, false },
    [GF_LOGICAL16] = { "logical16", 2, LOGICAL, false },
    [GF_LOGICAL32] = { "logical32", 4, LOGICAL, false },
    [GF_LOGICAL64] = { "logical64", 8, LOGICAL, false },
    [GF_BYTE] = { "byte", 1, BYTE, false },
    [GF_FLOAT_INT] = { "float+int", sizeof(struct float_int), PAIR, false },
    [GF_DOUBLE_INT] = { "double+int", sizeof(struct double_int), PAIR, false },
    [GF_LONG_INT] = { "long+int", sizeof(struct long_int), PAIR, false },
    [GF_INT_INT] = { "int+int", sizeof(struct int_int), PAIR, false },
    [GF_SHORT_INT] = { "short+int", sizeof(struct short_int), PAIR, false },
    [GF_LONG_DOUBLE_INT] = { "long double+int", sizeof(struct long_double_int), PAIR, true },
    [GF_FLOAT_FLOAT] = { "float+float", sizeof(struct float_float), PAIR, false },
    [GF_DOUBLE_DOUBLE] = { "double+double", sizeof(struct double_double), PAIR, false },
};

static const char *const op_names[GF_OP_COUNT] = {
    [GF_MAX] = "max", [GF_MIN] = "min", [GF_SUM] = "sum", [GF_PROD] = "prod",
    [GF_LAND] = "land", [GF_LOR] = "lor", [GF_LXOR] = "lxor",
    [GF_BAND] = "band", [GF_BOR] = "bor", [GF_BXOR] = "bxor",
    [GF_MAXLOC] = "maxloc", [GF_MINLOC] = "minloc",
    [GF_REPLACE] = "replace", [GF_NO_OP] = "no_op",
};

static bool type_valid(enum gf_type type) { return (unsigned)type < GF_TYPE_COUNT; }
static bool op_valid(enum gf_op op) { return (unsigned)op < GF_OP_COUNT; }

size_t gf_type_size(enum gf_type type)
{
    return type_valid(type) ? types[type].size : 0;
}

const char *gf_type_name(enum gf_type type)
{
    return type_valid(type) ? types[type].name : "unknown type";
}

const char *gf_op_name(enum gf_op op)
{
    return op_valid(op) ? op_names[op] : "unknown operation";
}

bool gf_op_allowed(enum gf_type type, enum gf_op op)
{
    return type_valid(type) && op_valid(op) && (allowed[types[type].class] & BIT(op));
}

bool gf_type_is_host_only(enum gf_type type)
{
    return type_valid(type) && types[type].host_only;
}
