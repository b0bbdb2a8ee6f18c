/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order statistics.
 */
#include "bench/samples.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void samples_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare);
}

double samples_at(const double *samples, size_t count, double fraction)
{
    return samples[(size_t)(fraction * (double)(count - 1))];
}
