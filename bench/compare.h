/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares two or more settings of MPI in one invocation: the sides (bench/side.h) run in turn, round after round, so that a
 * machine that changes its pace meets them all.
 */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "bench/options.h"

/* argv: of this program; what is not --compare, --rounds or --json goes to every side. Returns the exit status: 0, 1 if a result
 * was wrong, 2 if a side could not be run (its output is shown) or the JSON file not written. */
int compare_run(const struct bench_options *options, int argc, char **argv);

#endif
