/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the operations mean, one element at a time in plain C: the reference against which the kernels are tested. Shares
 * no code with them.
 */
#ifndef GF_TESTS_SCALAR_H
#define GF_TESTS_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/types.h"

/* *result = *a op *b; the three may be one element. Any alignment. */
void scalar_reduce(enum gf_type type, enum gf_op op, void *result, const void *a, const void *b);

/* Are the values equal, bit by bit? Padding, which has no value, is left out. any_nan: all NaNs count as equal, as
 * they must between different hardware. */
bool scalar_equal(enum gf_type type, const void *a, const void *b, bool any_nan);

/* Values for tests, from *state, which is advanced. */
uint64_t scalar_random(uint64_t *state);

enum scalar_values {
    SCALAR_EXACT,       /* small whole numbers, 1 or 2 for products: any order of reduction gives the same bits */
    SCALAR_EXTREME      /* limits, infinities, NaN, zeros of both signs, and random bits */
};
void scalar_fill(enum gf_type type, enum gf_op op, enum scalar_values values, void *elements, size_t count, uint64_t *state);

#endif
