/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the mechanisms in turn, as sides (bench/side.h), and has bench/plot.py draw their bandwidths over size. What a machine
 * refuses is said, with the reason.
 */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "bench/options.h"

/* argv: of this program. Returns the exit status: 0; 1 if a mechanism failed although nothing refused it (its output is shown);
 * 2 if nothing could be measured or drawn. */
int plot_run(const struct bench_options *options, int argc, char **argv);

#endif
