/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See the header.
 */
#include "bench/cliffs.h"

static const double tolerance = 1.2;

enum cliff cliff_between(size_t bytes, double us, size_t larger_bytes, double larger_us)
{
    double in_proportion = us * (double)larger_bytes / (double)bytes;

    return us > tolerance * larger_us ? CLIFF_DOWN : larger_us > tolerance * in_proportion ? CLIFF_UP : CLIFF_NONE;
}
