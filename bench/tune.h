/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the algorithms of MPI_Allreduce, and of two ranks the ways of a message, between which gpufifo chooses by itself, each
 * by jobs of its own, and writes the table by which it shall choose on this machine.
 */
#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include "bench/options.h"

/* argv: of this program. Returns the exit status: 0, 1 if an algorithm gave wrong results or failed without saying why, 2 if
 * nothing could be measured or the table not be written. */
int tune_run(const struct bench_options *options, int argc, char **argv);

#endif
