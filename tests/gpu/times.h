/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times by the host's clock, in microseconds, for the programs that measure. Link with bench/samples.c.
 */
#ifndef GF_TESTS_GPU_TIMES_H
#define GF_TESTS_GPU_TIMES_H

#include <time.h>

#include "bench/samples.h"

static inline double times_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Sorts them. */
static inline double times_median(double *times, size_t count)
{
    samples_sort(times, count);
    return samples_at(times, count, 0.5);
}

#endif
