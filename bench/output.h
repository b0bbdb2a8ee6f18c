/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that the user asks for. That one cannot be written is found before hours of measuring, not after them.
 */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Can `path` be written? Leaves what is there, and no new file. If not, says so. */
bool output_check(const char *path);

/* Begins the file anew. Null, and says so, if it cannot be written. The caller closes it. */
FILE *output_open(const char *path);

#endif
