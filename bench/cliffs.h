/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes between which time falls off a cliff. Pure.
 */
#ifndef BENCH_CLIFFS_H
#define BENCH_CLIFFS_H

#include <stddef.h>

enum cliff {
    CLIFF_NONE,
    CLIFF_DOWN,                    /* the larger message takes less, by more than a fifth */
    CLIFF_UP                       /* it takes more than in proportion, by more than a fifth */
};

/* Between a message and a larger one: bytes and microseconds of both. */
enum cliff cliff_between(size_t bytes, double us, size_t larger_bytes, double larger_us);

#endif
