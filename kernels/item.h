/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An item: what one thread moves and reduces at a time, in registers. On a GPU 16 bytes, the widest load there is; in the gcc
 * build 32, so that the widest element, a long double complex, fits into one item.
 */
#ifndef GF_KERNELS_ITEM_H
#define GF_KERNELS_ITEM_H

#include <stdint.h>

#ifdef __CUDACC__
#define GF_ITEM_BYTES 16
#else
#define GF_ITEM_BYTES 32
#endif

/* C's layout of MPI's pair types. */
struct gf_float_int { float value; int32_t index; };
struct gf_double_int { double value; int32_t index; };
struct gf_long_int { int64_t value; int32_t index; };
struct gf_int_int { int32_t value, index; };
struct gf_short_int { int16_t value; int32_t index; };
struct gf_float_float { float value, index; };
struct gf_double_double { double value, index; };
struct gf_float_complex { float re, im; };
struct gf_double_complex { double re, im; };
#ifndef __CUDACC__
struct gf_ld_complex { long double re, im; };
struct gf_ld_int { long double value; int32_t index; };
#endif

#define GF_LANES_OF(type) (GF_ITEM_BYTES / sizeof(type))

/* No long double in here: gcc may copy a union that has one through an x87 register, which keeps ten bytes of sixteen. reduce.h
 * takes them out of an item as bytes. */
union gf_item {
    uint8_t u8[GF_LANES_OF(uint8_t)];
    uint16_t u16[GF_LANES_OF(uint16_t)];
    uint32_t u32[GF_LANES_OF(uint32_t)];
    uint64_t u64[GF_LANES_OF(uint64_t)];
    int8_t s8[GF_LANES_OF(int8_t)];
    int16_t s16[GF_LANES_OF(int16_t)];
    int32_t s32[GF_LANES_OF(int32_t)];
    int64_t s64[GF_LANES_OF(int64_t)];
    float f32[GF_LANES_OF(float)];
    double f64[GF_LANES_OF(double)];
    struct gf_float_complex c64[GF_LANES_OF(struct gf_float_complex)];
    struct gf_double_complex c128[GF_LANES_OF(struct gf_double_complex)];
    struct gf_float_int float_int[GF_LANES_OF(struct gf_float_int)];
    struct gf_double_int double_int[GF_LANES_OF(struct gf_double_int)];
    struct gf_long_int long_int[GF_LANES_OF(struct gf_long_int)];
    struct gf_int_int int_int[GF_LANES_OF(struct gf_int_int)];
    struct gf_short_int short_int[GF_LANES_OF(struct gf_short_int)];
    struct gf_float_float float_float[GF_LANES_OF(struct gf_float_float)];
    struct gf_double_double double_double[GF_LANES_OF(struct gf_double_double)];
};

/* A piece of data that moves with one load and one store: of 1, 2, 4, 8 or 16 bytes. */
union gf_word {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64[2];
};
#endif
