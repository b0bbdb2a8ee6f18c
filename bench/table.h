/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of a tuning table (docs/tuning.md): new rows of some ranks in place of the old ones, all others stay.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whose rows are new. */
struct table_part {
    const char *topology;
    int ranks;
};

/* Can it be written? True where there is no file yet, or a table, in a folder that takes new files; else one sentence. */
bool table_check(const char *path);

/* Writes a new file beside it and puts that in its place, so that whoever reads it sees all or nothing. `rows` writes the new
 * part, its comments beginning "# TOPOLOGY RANKS:". False, after one sentence: the old file is as it was. */
bool table_write(const char *path, const struct table_part *part, void (*rows)(FILE *out, const void *ctx), const void *ctx);

#endif
