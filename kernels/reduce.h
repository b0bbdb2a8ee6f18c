/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elementwise operations on items: r = a op b for all elements of an item at once, in registers.
 *
 * The same expressions run on CPU and GPU (-ffp-contract=off, -fmad=false), so results are equal to the bit, but for the payload
 * of a NaN, which hardware chooses. What MPI leaves open:
 *   integer sums and products wrap as two's complement;
 *   MAX is a > b ? a : b and MIN is a < b ? a : b, so b wins where one of them is NaN, or for zeros of unlike sign;
 *   complex products are the four real products, without C's recovery of infinities;
 *   logical results are 0 or 1, and every non-zero value is true;
 *   MAXLOC and MINLOC of values that compare neither less nor greater (NaN too) keep a's value and the lower index;
 *   the padding of a pair comes with the value.
 */
#ifndef GF_KERNELS_REDUCE_H
#define GF_KERNELS_REDUCE_H

#include <string.h>

#include "base/types.h"
#include "kernels/item.h"
#include "kernels/team.h"

/* Runs a statement for every lane i of the item's array `field`. */
#define GF_EACH_LANE(field, statement)                                                      \
    do {                                                                                    \
        GF_UNROLL                                                                           \
        for (uint32_t i = 0; i < sizeof result.field / sizeof result.field[0]; i++) {       \
            statement;                                                                      \
        }                                                                                   \
    } while (0)

#define GF_BINARY(field, expression) GF_EACH_LANE(field, result.field[i] = (expression))

/* Integers, as unsigned: all that needs no sign. `1u *` keeps a product of short types from overflowing an int. */
#define GF_DEFINE_UNSIGNED(field)                                                           \
    GF_INLINE union gf_item gf_reduce_##field(enum gf_op op, union gf_item a, union gf_item b) \
    {                                                                                       \
        union gf_item result = a;                                                           \
        switch (op) {                                                                       \
        case GF_MAX: GF_BINARY(field, a.field[i] > b.field[i] ? a.field[i] : b.field[i]); break; \
        case GF_MIN: GF_BINARY(field, a.field[i] < b.field[i] ? a.field[i] : b.field[i]); break; \
        case GF_SUM: GF_BINARY(field, a.field[i] + b.field[i]); break;                      \
        case GF_PROD: GF_BINARY(field, 1u * a.field[i] * b.field[i]); break;                \
        case GF_LAND: GF_BINARY(field, (a.field[i] != 0) & (b.field[i] != 0)); break;       \
        case GF_LOR: GF_BINARY(field, (a.field[i] != 0) | (b.field[i] != 0)); break;        \
        case GF_LXOR: GF_BINARY(field, (a.field[i] != 0) ^ (b.field[i] != 0)); break;       \
        case GF_BAND: GF_BINARY(field, a.field[i] & b.field[i]); break;                     \
        case GF_BOR: GF_BINARY(field, a.field[i] | b.field[i]); break;                      \
        case GF_BXOR: GF_BINARY(field, a.field[i] ^ b.field[i]); break;                     \
        default: break;                                                                     \
        }                                                                                   \
        return result;                                                                      \
    }

/* Signed integers: only the order. */
#define GF_DEFINE_SIGNED(field)                                                             \
    GF_INLINE union gf_item gf_reduce_##field(enum gf_op op, union gf_item a, union gf_item b) \
    {                                                                                       \
        union gf_item result = a;                                                           \
        if (op == GF_MAX)                                                                   \
            GF_BINARY(field, a.field[i] > b.field[i] ? a.field[i] : b.field[i]);            \
        else                                                                                \
            GF_BINARY(field, a.field[i] < b.field[i] ? a.field[i] : b.field[i]);            \
        return result;                                                                      \
    }

#define GF_DEFINE_FLOATING(field)                                                           \
    GF_INLINE union gf_item gf_reduce_##field(enum gf_op op, union gf_item a, union gf_item b) \
    {                                                                                       \
        union gf_item result = a;                                                           \
        switch (op) {                                                                       \
        case GF_MAX: GF_BINARY(field, a.field[i] > b.field[i] ? a.field[i] : b.field[i]); break; \
        case GF_MIN: GF_BINARY(field, a.field[i] < b.field[i] ? a.field[i] : b.field[i]); break; \
        case GF_SUM: GF_BINARY(field, a.field[i] + b.field[i]); break;                      \
        case GF_PROD: GF_BINARY(field, a.field[i] * b.field[i]); break;                     \
        default: break;                                                                     \
        }                                                                                   \
        return result;                                                                      \
    }

#define GF_DEFINE_COMPLEX(field)                                                            \
    GF_INLINE union gf_item gf_reduce_##field(enum gf_op op, union gf_item a, union gf_item b) \
    {                                                                                       \
        union gf_item result = a;                                                           \
        if (op == GF_SUM)                                                                   \
            GF_EACH_LANE(field, result.field[i].re = a.field[i].re + b.field[i].re;         \
                                result.field[i].im = a.field[i].im + b.field[i].im);        \
        else                                                                                \
            GF_EACH_LANE(field,                                                             \
                result.field[i].re = a.field[i].re * b.field[i].re - a.field[i].im * b.field[i].im; \
                result.field[i].im = a.field[i].re * b.field[i].im + a.field[i].im * b.field[i].re); \
        return result;                                                                      \
    }

/* Pairs: the whole of the winner, or on a tie a with the lower index. */
#define GF_DEFINE_PAIR(field)                                                               \
    GF_INLINE union gf_item gf_reduce_##field(enum gf_op op, union gf_item a, union gf_item b) \
    {                                                                                       \
        union gf_item result = a;                                                           \
        GF_EACH_LANE(field,                                                                 \
            bool less = a.field[i].value < b.field[i].value;                                \
            bool greater = a.field[i].value > b.field[i].value;                             \
            if (op == GF_MAXLOC ? less : greater)                                           \
                result.field[i] = b.field[i];                                               \
            else if (!less && !greater && b.field[i].index < a.field[i].index)              \
                result.field[i].index = b.field[i].index);                                  \
        return result;                                                                      \
    }

GF_DEFINE_UNSIGNED(u8)
GF_DEFINE_UNSIGNED(u16)
GF_DEFINE_UNSIGNED(u32)
GF_DEFINE_UNSIGNED(u64)
GF_DEFINE_SIGNED(s8)
GF_DEFINE_SIGNED(s16)
GF_DEFINE_SIGNED(s32)
GF_DEFINE_SIGNED(s64)
GF_DEFINE_FLOATING(f32)
GF_DEFINE_FLOATING(f64)
GF_DEFINE_COMPLEX(c64)
GF_DEFINE_COMPLEX(c128)
GF_DEFINE_PAIR(float_int)
GF_DEFINE_PAIR(double_int)
GF_DEFINE_PAIR(long_int)
GF_DEFINE_PAIR(int_int)
GF_DEFINE_PAIR(short_int)
GF_DEFINE_PAIR(float_float)
GF_DEFINE_PAIR(double_double)
#ifndef __CUDACC__
/* Long doubles, which are no members of an item. Never inlined: where gcc sees an item's bytes used as a long double, it may keep
 * the item in x87 registers, and lose six of its bytes in sixteen, in the branches for other types too. */
#define GF_LONG_DOUBLE_INLINE static __attribute__((noinline, unused))
#define GF_LONG_LANES (GF_ITEM_BYTES / sizeof(long double))

GF_INLINE long double gf_reduce_long_double(enum gf_op op, long double a, long double b)
{
    switch (op) {
    case GF_MAX: return a > b ? a : b;
    case GF_MIN: return a < b ? a : b;
    case GF_SUM: return a + b;
    case GF_PROD: return a * b;
    default: return a;
    }
}

GF_LONG_DOUBLE_INLINE union gf_item gf_reduce_ld(enum gf_op op, union gf_item a, union gf_item b)
{
    long double x[GF_LONG_LANES], y[GF_LONG_LANES];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (uint32_t i = 0; i < GF_LONG_LANES; i++)
        x[i] = gf_reduce_long_double(op, x[i], y[i]);
    memcpy(&a, x, sizeof x);
    return a;
}

GF_LONG_DOUBLE_INLINE union gf_item gf_reduce_ld_complex(enum gf_op op, union gf_item a, union gf_item b)
{
    struct gf_ld_complex x, y, result;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    result.re = op == GF_SUM ? x.re + y.re : x.re * y.re - x.im * y.im;
    result.im = op == GF_SUM ? x.im + y.im : x.re * y.im + x.im * y.re;
    memcpy(&a, &result, sizeof result);
    return a;
}

GF_LONG_DOUBLE_INLINE union gf_item gf_reduce_ld_int(enum gf_op op, union gf_item a, union gf_item b)
{
    struct gf_ld_int x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    if (op == GF_MAXLOC ? x.value < y.value : x.value > y.value)
        return b;
    if (!(x.value < y.value) && !(x.value > y.value) && y.index < x.index) {
        x.index = y.index;
        memcpy(&a, &x, sizeof x);
    }
    return a;
}
#endif

/* Bytes of an element: gf_type_size, for code that runs on the device. */
GF_INLINE uint32_t gf_element_bytes(enum gf_type type)
{
    switch (type) {
    case GF_INT8: case GF_UINT8: case GF_BOOL: case GF_LOGICAL8: case GF_BYTE:
        return 1;
    case GF_INT16: case GF_UINT16: case GF_LOGICAL16:
        return 2;
    case GF_INT32: case GF_UINT32: case GF_LOGICAL32: case GF_FLOAT:
        return 4;
    case GF_LONG_DOUBLE_COMPLEX: case GF_LONG_DOUBLE_INT:
        return 32;
    case GF_LONG_DOUBLE: case GF_DOUBLE_COMPLEX: case GF_DOUBLE_INT: case GF_LONG_INT: case GF_DOUBLE_DOUBLE:
        return 16;
    default:
        return 8;
    }
}

/* The type that stands for all types on which this operation does the same. */
GF_INLINE enum gf_type gf_canonical_type(enum gf_type type, enum gf_op op)
{
    bool ordered = op == GF_MAX || op == GF_MIN;
    switch (type) {
    case GF_INT8: return ordered ? GF_INT8 : GF_UINT8;
    case GF_INT16: return ordered ? GF_INT16 : GF_UINT16;
    case GF_INT32: return ordered ? GF_INT32 : GF_UINT32;
    case GF_INT64: return ordered ? GF_INT64 : GF_UINT64;
    case GF_BOOL: case GF_LOGICAL8: case GF_BYTE: return GF_UINT8;
    case GF_LOGICAL16: return GF_UINT16;
    case GF_LOGICAL32: return GF_UINT32;
    case GF_LOGICAL64: return GF_UINT64;
    default: return type;
    }
}

/* a op b for a type as gf_canonical_type gives it. With constant type and op this is a few instructions. */
GF_INLINE union gf_item gf_reduce_item(enum gf_type type, enum gf_op op, union gf_item a, union gf_item b)
{
    if (op == GF_NO_OP)
        return a;
    if (op == GF_REPLACE)
        return b;
    switch (type) {
    case GF_UINT8: return gf_reduce_u8(op, a, b);
    case GF_UINT16: return gf_reduce_u16(op, a, b);
    case GF_UINT32: return gf_reduce_u32(op, a, b);
    case GF_UINT64: return gf_reduce_u64(op, a, b);
    case GF_INT8: return gf_reduce_s8(op, a, b);
    case GF_INT16: return gf_reduce_s16(op, a, b);
    case GF_INT32: return gf_reduce_s32(op, a, b);
    case GF_INT64: return gf_reduce_s64(op, a, b);
    case GF_FLOAT: return gf_reduce_f32(op, a, b);
    case GF_DOUBLE: return gf_reduce_f64(op, a, b);
    case GF_FLOAT_COMPLEX: return gf_reduce_c64(op, a, b);
    case GF_DOUBLE_COMPLEX: return gf_reduce_c128(op, a, b);
    case GF_FLOAT_INT: return gf_reduce_float_int(op, a, b);
    case GF_DOUBLE_INT: return gf_reduce_double_int(op, a, b);
    case GF_LONG_INT: return gf_reduce_long_int(op, a, b);
    case GF_INT_INT: return gf_reduce_int_int(op, a, b);
    case GF_SHORT_INT: return gf_reduce_short_int(op, a, b);
    case GF_FLOAT_FLOAT: return gf_reduce_float_float(op, a, b);
    case GF_DOUBLE_DOUBLE: return gf_reduce_double_double(op, a, b);
#ifndef __CUDACC__
    case GF_LONG_DOUBLE: return gf_reduce_ld(op, a, b);
    case GF_LONG_DOUBLE_COMPLEX: return gf_reduce_ld_complex(op, a, b);
    case GF_LONG_DOUBLE_INT: return gf_reduce_ld_int(op, a, b);
#endif
    default: return a;
    }
}

/* For one type: a loop for each operation from `first` to `last`. */
GF_INLINE union gf_item gf_reduce_row_of(enum gf_type type, enum gf_op op, enum gf_op first, enum gf_op last,
                                         const union gf_item *items, uint32_t stride, uint32_t count)
{
    union gf_item result = items[0];
    GF_UNROLL
    for (uint32_t each = first; each <= (uint32_t)last; each++)
        if (each == (uint32_t)op)
            for (uint32_t k = 1; k < count; k++)
                result = gf_reduce_item(type, (enum gf_op)each, result, items[k * stride]);
    return result;
}

/* items[0] op items[stride] op items[2 stride] …, of `count` items, for a type as gf_canonical_type gives it. Type and operation
 * are looked at once. Out of line: all pairs in one place. */
GF_NOINLINE union gf_item gf_reduce_row(enum gf_type type, enum gf_op op, const union gf_item *items, uint32_t stride,
                                        uint32_t count)
{
    if (op == GF_NO_OP || op == GF_REPLACE)
        return items[op == GF_REPLACE ? (count - 1) * stride : 0];
    switch (type) {
    case GF_UINT8: return gf_reduce_row_of(GF_UINT8, op, GF_MAX, GF_BXOR, items, stride, count);
    case GF_UINT16: return gf_reduce_row_of(GF_UINT16, op, GF_MAX, GF_BXOR, items, stride, count);
    case GF_UINT32: return gf_reduce_row_of(GF_UINT32, op, GF_MAX, GF_BXOR, items, stride, count);
    case GF_UINT64: return gf_reduce_row_of(GF_UINT64, op, GF_MAX, GF_BXOR, items, stride, count);
    case GF_INT8: return gf_reduce_row_of(GF_INT8, op, GF_MAX, GF_MIN, items, stride, count);
    case GF_INT16: return gf_reduce_row_of(GF_INT16, op, GF_MAX, GF_MIN, items, stride, count);
    case GF_INT32: return gf_reduce_row_of(GF_INT32, op, GF_MAX, GF_MIN, items, stride, count);
    case GF_INT64: return gf_reduce_row_of(GF_INT64, op, GF_MAX, GF_MIN, items, stride, count);
    case GF_FLOAT: return gf_reduce_row_of(GF_FLOAT, op, GF_MAX, GF_PROD, items, stride, count);
    case GF_DOUBLE: return gf_reduce_row_of(GF_DOUBLE, op, GF_MAX, GF_PROD, items, stride, count);
    case GF_FLOAT_COMPLEX: return gf_reduce_row_of(GF_FLOAT_COMPLEX, op, GF_SUM, GF_PROD, items, stride, count);
    case GF_DOUBLE_COMPLEX: return gf_reduce_row_of(GF_DOUBLE_COMPLEX, op, GF_SUM, GF_PROD, items, stride, count);
    case GF_FLOAT_INT: return gf_reduce_row_of(GF_FLOAT_INT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
    case GF_DOUBLE_INT: return gf_reduce_row_of(GF_DOUBLE_INT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
    case GF_LONG_INT: return gf_reduce_row_of(GF_LONG_INT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
    case GF_INT_INT: return gf_reduce_row_of(GF_INT_INT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
    case GF_SHORT_INT: return gf_reduce_row_of(GF_SHORT_INT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
    case GF_FLOAT_FLOAT: return gf_reduce_row_of(GF_FLOAT_FLOAT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
    case GF_DOUBLE_DOUBLE: return gf_reduce_row_of(GF_DOUBLE_DOUBLE, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
#ifndef __CUDACC__
    case GF_LONG_DOUBLE: return gf_reduce_row_of(GF_LONG_DOUBLE, op, GF_MAX, GF_PROD, items, stride, count);
    case GF_LONG_DOUBLE_COMPLEX: return gf_reduce_row_of(GF_LONG_DOUBLE_COMPLEX, op, GF_SUM, GF_PROD, items, stride, count);
    case GF_LONG_DOUBLE_INT: return gf_reduce_row_of(GF_LONG_DOUBLE_INT, op, GF_MAXLOC, GF_MINLOC, items, stride, count);
#endif
    default: return items[0];
    }
}

#endif
