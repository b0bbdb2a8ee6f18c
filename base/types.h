/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types and reduction operations, as the kernels know them. This header is read by gcc and nvcc alike.
 *
 * Every predefined MPI type that may be reduced maps to one of these (mca_coll_gpufifo/datatype.c). The numbers travel
 * in work items between host and device, never between versions.
 */
#ifndef GF_BASE_TYPES_H
#define GF_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gf_type {
    GF_INT8, GF_UINT8, GF_INT16, GF_UINT16, GF_INT32, GF_UINT32, GF_INT64, GF_UINT64,
    GF_FLOAT, GF_DOUBLE, GF_LONG_DOUBLE,
    GF_FLOAT_COMPLEX, GF_DOUBLE_COMPLEX, GF_LONG_DOUBLE_COMPLEX,
    GF_BOOL,                       /* C and C++ bool: one byte, logical operations only */
    GF_LOGICAL8, GF_LOGICAL16, GF_LOGICAL32, GF_LOGICAL64,   /* Fortran LOGICAL by its width in bits, logical operations only */
    GF_BYTE,                       /* bitwise operations only */
    GF_FLOAT_INT, GF_DOUBLE_INT, GF_LONG_INT, GF_INT_INT, GF_SHORT_INT, GF_LONG_DOUBLE_INT,   /* C pairs, C layout */
    GF_FLOAT_FLOAT, GF_DOUBLE_DOUBLE,   /* Fortran's 2REAL and 2DOUBLE PRECISION; 2INTEGER is GF_INT_INT */
    GF_TYPE_COUNT
};

enum gf_op {
    GF_MAX, GF_MIN, GF_SUM, GF_PROD,
    GF_LAND, GF_LOR, GF_LXOR,
    GF_BAND, GF_BOR, GF_BXOR,
    GF_MAXLOC, GF_MINLOC,
    GF_REPLACE,                    /* result = the operand of the higher rank */
    GF_NO_OP,                      /* result = the operand of the lowest rank */
    GF_OP_COUNT
};

/* Bytes of one element with C's padding (sizeof on this host), 0 for a value out of range. */
size_t gf_type_size(enum gf_type type);
const char *gf_type_name(enum gf_type type);
const char *gf_op_name(enum gf_op op);

/* Does MPI-3.1 §5.9.2 and §5.9.4 allow this operation on this type? REPLACE and NO_OP go with every type. */
bool gf_op_allowed(enum gf_type type, enum gf_op op);

/* True for types whose arithmetic a CUDA device has not got: long double and what contains it. */
bool gf_type_is_host_only(enum gf_type type);

#endif
