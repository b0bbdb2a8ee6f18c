/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One setting of MPI among several that are measured in turn. A setting of a component or PML holds for a whole job, so each side
 * is a job of its own, started here, again in each round; the figures of all its rounds are kept.
 */
#ifndef BENCH_SIDE_H
#define BENCH_SIDE_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/measure.h"

enum { SIDE_ROWS_MOST = 128, ROUNDS_MOST = 100 };

/* The medians that one side measured for one size and method, by round. */
struct side_row {
    size_t bytes;
    enum method method;
    double median_us[ROUNDS_MOST];     /* sorted by side_finish */
    double volume;                     /* GB/s times µs: what a call moves, as its test counts it */
    size_t wrong;
    char path[64];
};

/* Owned by whoever compares; zero, but for the text, before the first round. text: as --compare takes it. */
struct side {
    const char *text;
    int rows;
    struct side_row row[SIDE_ROWS_MOST];
};

/* Runs this side's job for one round. folder: as folder_create makes it. argv: of this program; what does not belong to the
 * comparison itself goes to the job. False if the job failed, or gave wrong results: then side_log_show shows its command and
 * what it said. */
bool side_run(struct side *side, int round, const char *folder, int argc, char **argv);

/* Of the last job. Null if there is no log. The caller closes it. */
FILE *side_log_open(const char *folder);
void side_log_show(FILE *out, const char *folder);

/* After the last of `rounds` rounds. */
void side_finish(struct side *side, int rounds);

/* Of a side that is finished: the row of this size and method, or null; the median of its medians; its GB/s. */
const struct side_row *side_find(const struct side *side, size_t bytes, enum method method);
double side_median_us(const struct side_row *row, int rounds);
double side_rate(const struct side_row *row, int rounds);

#endif
