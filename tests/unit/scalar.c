/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The scalar reference of the operations.
 */
#include "base/random.h"
#include "tests/unit/scalar.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* One struct a pair, as a C program that uses MPI's pair types would declare them. */
struct float_int { float v; int i; };
struct double_int { double v; int i; };
struct long_int { long v; int i; };
struct two_int { int v, i; };
struct short_int { short v; int i; };
struct long_double_int { long double v; int i; };
struct two_float { float v, i; };
struct two_double { double v, i; };

union element {
    int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64; uint64_t u64;
    float f; double d; long double ld;
    float complex cf; double complex cd; long double complex cld;
    struct float_int fi; struct double_int di; struct long_int li; struct two_int ii; struct short_int si;
    struct long_double_int ldi; struct two_float ff; struct two_double dd;
    unsigned char bytes[32];
};

/* Whole numbers, in 128 bits, where nothing overflows; the caller cuts the result to the type. */
static __int128 whole(enum gf_op op, __int128 a, __int128 b)
{
    switch (op) {
    case GF_MAX: return a >= b ? a : b;
    case GF_MIN: return a <= b ? a : b;
    case GF_SUM: return a + b;
    case GF_PROD: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case GF_LAND: return a && b;
    case GF_LOR: return a || b;
    case GF_LXOR: return !a != !b;
    case GF_BAND: return a & b;
    case GF_BOR: return a | b;
    case GF_BXOR: return a ^ b;
    default: return 0;
    }
}

#define REAL(member)                                                                        \
    switch (op) {                                                                           \
    case GF_MAX: r.member = x.member > y.member ? x.member : y.member; break;               \
    case GF_MIN: r.member = x.member < y.member ? x.member : y.member; break;               \
    case GF_SUM: r.member = x.member + y.member; break;                                     \
    default: r.member = x.member * y.member; break;                                         \
    }

#define COMPLEX(member, type)                                                               \
    do {                                                                                    \
        type *p = (type *)&x.member, *q = (type *)&y.member, *z = (type *)&r.member;        \
        if (op == GF_SUM) {                                                                 \
            z[0] = p[0] + q[0];                                                             \
            z[1] = p[1] + q[1];                                                             \
        } else {                                                                            \
            z[0] = p[0] * q[0] - p[1] * q[1];                                               \
            z[1] = p[0] * q[1] + p[1] * q[0];                                               \
        }                                                                                   \
    } while (0)

/* MPI-3.1 §5.9.4: of unequal values the better one with its index, of equal ones the lower index. */
#define LOCATION(member)                                                                    \
    do {                                                                                    \
        bool a_wins = op == GF_MAXLOC ? x.member.v > y.member.v : x.member.v < y.member.v;  \
        bool b_wins = op == GF_MAXLOC ? y.member.v > x.member.v : y.member.v < x.member.v;  \
        r.member = b_wins ? y.member : x.member;                                            \
        if (!a_wins && !b_wins)                                                             \
            r.member.i = x.member.i < y.member.i ? x.member.i : y.member.i;                 \
    } while (0)

void scalar_reduce(enum gf_type type, enum gf_op op, void *result, const void *a, const void *b)
{
    union element x = {0}, y = {0}, r = {0};
    size_t size = gf_type_size(type);
    memcpy(&x, a, size);
    memcpy(&y, b, size);
    if (op == GF_REPLACE || op == GF_NO_OP) {
        memcpy(result, op == GF_REPLACE ? &y : &x, size);
        return;
    }
    switch (type) {
    case GF_INT8: r.i8 = (int8_t)whole(op, x.i8, y.i8); break;
    case GF_INT16: r.i16 = (int16_t)whole(op, x.i16, y.i16); break;
    case GF_INT32: r.i32 = (int32_t)whole(op, x.i32, y.i32); break;
    case GF_INT64: r.i64 = (int64_t)whole(op, x.i64, y.i64); break;
    case GF_UINT8: case GF_BYTE: case GF_BOOL: case GF_LOGICAL8: r.u8 = (uint8_t)whole(op, x.u8, y.u8); break;
    case GF_UINT16: case GF_LOGICAL16: r.u16 = (uint16_t)whole(op, x.u16, y.u16); break;
    case GF_UINT32: case GF_LOGICAL32: r.u32 = (uint32_t)whole(op, x.u32, y.u32); break;
    case GF_UINT64: case GF_LOGICAL64: r.u64 = (uint64_t)whole(op, x.u64, y.u64); break;
    case GF_FLOAT: REAL(f); break;
    case GF_DOUBLE: REAL(d); break;
    case GF_LONG_DOUBLE: REAL(ld); break;
    case GF_FLOAT_COMPLEX: COMPLEX(cf, float); break;
    case GF_DOUBLE_COMPLEX: COMPLEX(cd, double); break;
    case GF_LONG_DOUBLE_COMPLEX: COMPLEX(cld, long double); break;
    case GF_FLOAT_INT: LOCATION(fi); break;
    case GF_DOUBLE_INT: LOCATION(di); break;
    case GF_LONG_INT: LOCATION(li); break;
    case GF_INT_INT: LOCATION(ii); break;
    case GF_SHORT_INT: LOCATION(si); break;
    case GF_LONG_DOUBLE_INT: LOCATION(ldi); break;
    case GF_FLOAT_FLOAT: LOCATION(ff); break;
    case GF_DOUBLE_DOUBLE: LOCATION(dd); break;
    default: break;
    }
    memcpy(result, &r, size);
}

static bool same_float(float a, float b, bool any_nan)
{
    return (any_nan && isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

static bool same_double(double a, double b, bool any_nan)
{
    return (any_nan && isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

/* An x86 long double has ten bytes of value. */
static bool same_long_double(long double a, long double b, bool any_nan)
{
    size_t value = LDBL_MANT_DIG == 64 ? 10 : sizeof a;
    return (any_nan && isnan(a) && isnan(b)) || !memcmp(&a, &b, value);
}

bool scalar_equal(enum gf_type type, const void *a, const void *b, bool any_nan)
{
    union element x = {0}, y = {0};
    memcpy(&x, a, gf_type_size(type));
    memcpy(&y, b, gf_type_size(type));
    switch (type) {
    case GF_FLOAT: return same_float(x.f, y.f, any_nan);
    case GF_DOUBLE: return same_double(x.d, y.d, any_nan);
    case GF_LONG_DOUBLE: return same_long_double(x.ld, y.ld, any_nan);
    case GF_FLOAT_COMPLEX:
        return same_float(crealf(x.cf), crealf(y.cf), any_nan) && same_float(cimagf(x.cf), cimagf(y.cf), any_nan);
    case GF_DOUBLE_COMPLEX:
        return same_double(creal(x.cd), creal(y.cd), any_nan) && same_double(cimag(x.cd), cimag(y.cd), any_nan);
    case GF_LONG_DOUBLE_COMPLEX:
        return same_long_double(creall(x.cld), creall(y.cld), any_nan) && same_long_double(cimagl(x.cld), cimagl(y.cld), any_nan);
    case GF_FLOAT_INT: return same_float(x.fi.v, y.fi.v, any_nan) && x.fi.i == y.fi.i;
    case GF_DOUBLE_INT: return same_double(x.di.v, y.di.v, any_nan) && x.di.i == y.di.i;
    case GF_LONG_INT: return x.li.v == y.li.v && x.li.i == y.li.i;
    case GF_SHORT_INT: return x.si.v == y.si.v && x.si.i == y.si.i;
    case GF_LONG_DOUBLE_INT: return same_long_double(x.ldi.v, y.ldi.v, any_nan) && x.ldi.i == y.ldi.i;
    case GF_FLOAT_FLOAT: return same_float(x.ff.v, y.ff.v, any_nan) && same_float(x.ff.i, y.ff.i, any_nan);
    case GF_DOUBLE_DOUBLE: return same_double(x.dd.v, y.dd.v, any_nan) && same_double(x.dd.i, y.dd.i, any_nan);
    default: return !memcmp(&x, &y, gf_type_size(type));
    }
}

uint64_t scalar_random(uint64_t *state)
{
    return gf_random_next(state);
}

static int64_t random_integer(enum scalar_values values, enum gf_op op, uint64_t *state)
{
    static const int64_t limits[] = { 0, 1, -1, INT8_MIN, INT8_MAX, UINT8_MAX, INT16_MIN, INT16_MAX, UINT16_MAX, INT32_MIN,
                                      INT32_MAX, UINT32_MAX, INT64_MIN, INT64_MAX };
    uint64_t random = scalar_random(state);
    if (values == SCALAR_EXACT && (op == GF_MAXLOC || op == GF_MINLOC))
        return (int64_t)(random % 5) - 2;             /* ties are wanted */
    if (random % 3 == 0)
        return limits[random / 3 % (sizeof limits / sizeof limits[0])];
    return (int64_t)scalar_random(state);
}

static double random_real(enum scalar_values values, enum gf_op op, uint64_t *state)
{
    static const double special[] = { 0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN,
                                      DBL_MAX, DBL_MIN, DBL_TRUE_MIN, FLT_EPSILON };
    uint64_t random = scalar_random(state);
    if (values == SCALAR_EXACT)
        return op == GF_PROD ? (random % 2 ? 1.0 : -2.0) : (double)(random % 9) - 4.0;
    if (random % 3 == 0)
        return special[random / 3 % (sizeof special / sizeof special[0])];
    return ldexp((double)(int64_t)scalar_random(state), (int)(random % 130) - 128);
}

static void fill_one(enum gf_type type, enum gf_op op, enum scalar_values values, union element *e, uint64_t *state)
{
    int64_t i = random_integer(values, op, state);
    double v = random_real(values, op, state), w = random_real(values, op, state);
    if (values == SCALAR_EXACT && op == GF_PROD)
        w = 2 * v;                                    /* no power of 1 + 2i has a part that is zero */
    int index = (int)(scalar_random(state) % 100);
    switch (type) {
    case GF_BOOL: e->u8 = i & 1; break;
    case GF_LOGICAL8: case GF_LOGICAL16: case GF_LOGICAL32: case GF_LOGICAL64: e->i64 = i & 1 ? i : 0; break;
    case GF_FLOAT: e->f = (float)v; break;
    case GF_DOUBLE: e->d = v; break;
    case GF_LONG_DOUBLE: e->ld = v; break;
    case GF_FLOAT_COMPLEX: ((float *)e)[0] = (float)v; ((float *)e)[1] = (float)w; break;
    case GF_DOUBLE_COMPLEX: ((double *)e)[0] = v; ((double *)e)[1] = w; break;
    case GF_LONG_DOUBLE_COMPLEX: ((long double *)e)[0] = v; ((long double *)e)[1] = w; break;
    case GF_FLOAT_INT: e->fi.v = (float)v; e->fi.i = index; break;
    case GF_DOUBLE_INT: e->di.v = v; e->di.i = index; break;
    case GF_LONG_INT: e->li.v = i; e->li.i = index; break;
    case GF_INT_INT: e->ii.v = (int)i; e->ii.i = index; break;
    case GF_SHORT_INT: e->si.v = (short)i; e->si.i = index; break;
    case GF_LONG_DOUBLE_INT: e->ldi.v = v; e->ldi.i = index; break;
    case GF_FLOAT_FLOAT: e->ff.v = (float)v; e->ff.i = (float)index; break;
    case GF_DOUBLE_DOUBLE: e->dd.v = v; e->dd.i = index; break;
    default: e->i64 = i; break;
    }
}

void scalar_fill(enum gf_type type, enum gf_op op, enum scalar_values values, void *elements, size_t count, uint64_t *state)
{
    size_t size = gf_type_size(type);
    for (size_t k = 0; k < count; k++) {
        union element e = {0};
        fill_one(type, op, values, &e, state);
        memcpy((char *)elements + k * size, &e, size);
    }
}
