/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mechanisms (bench/mechanisms.h) that are measured in turn, each by jobs of its own, and what became of each: figures, or why it
 * was refused.
 */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include "bench/mechanisms.h"
#include "bench/options.h"
#include "bench/side.h"

struct line {
    const struct mechanism *mechanism;
    char text[MECHANISM_SIDE_BYTES];
    struct side side;
    bool failed;                   /* it has no figures; refused: why, or empty if nothing refused it */
    char refused[400];
};

/* Owned by whoever creates it; zero is empty. */
struct lines {
    struct line *line;
    int count, rounds;
};

/* A line for each mechanism that is wanted. False: out of memory. */
bool lines_create(struct lines *lines, const struct bench_options *options,
                  bool (*wanted)(const struct mechanism *mechanism, const struct bench_options *options));
void lines_destroy(struct lines *lines);

/* Runs each line in each round, and says which are refused. After a job that gave figures, `after` may look at its log in the
 * folder; null: nobody does. argv: as side_run takes it. */
void lines_run(struct lines *lines, const char *folder, int argc, char **argv, void (*after)(void *ctx, const char *folder),
               void *ctx);

/* Is the row this mechanism's, and not that of a path which was taken instead? */
bool line_row_counts(const struct line *line, const struct side_row *row);

/* The smallest size above `bytes` that a mechanism of this test has; 0 if there is none. */
size_t lines_next_size(const struct lines *lines, enum bench_kind test, size_t bytes);

#endif
