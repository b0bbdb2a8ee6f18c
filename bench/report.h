/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What gpufifo-bench prints: where it ran, a table, and the same as JSON, one row a line.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench/measure.h"

/* Where a run took place; plain text. */
struct machine {
    char host[80], cpu[120], gpu[120], driver[120], mpi[80], gpufifo[40], device[20];
    int cores, ranks;
};

/* gpu and driver: "-" where there is none. device: the gpufifo_device's name. */
void machine_read(struct machine *machine, const struct bench *bench);

void report_machine(FILE *out, const struct machine *machine, const struct bench *bench);
void report_heading(FILE *out, const struct bench *bench);
/* figures: as bench_measure gives them for one size. */
void report_line(FILE *out, const struct bench *bench, const struct figures *figures);

/* JSON: begin, any number of rows, end. */
void json_begin(FILE *out, const struct machine *machine, const struct bench *bench);
void json_row(FILE *out, const struct bench *bench, const struct figures *figures, bool first);
void json_end(FILE *out);

/* Reads back what json_row wrote; false for any other line. */
bool json_row_read(const char *line, struct figures *figures);

#endif
