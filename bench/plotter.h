/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bench/plot.py, run by the first Python that has matplotlib.
 */
#ifndef BENCH_PLOTTER_H
#define BENCH_PLOTTER_H

#include <stdbool.h>

/* Is there one, and can it draw a file of this name? False after one sentence that says what is wrong. */
bool plotter_check(const char *picture);

/* Draws a JSON file of gpufifo-bench. The format of `picture` is that of its name's end. False after a sentence that says why
 * not. */
bool plotter_draw(const char *picture, const char *json);

#endif
