/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measured times: order statistics of a few hundred samples.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stddef.h>

/* Sorts in place. */
void samples_sort(double *samples, size_t count);

/* fraction: 0 the smallest, 0.5 the median, 1 the largest; between two samples the lower one counts. samples: sorted; count: at
 * least 1. */
double samples_at(const double *samples, size_t count, double fraction);

#endif
