/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running them, and reading refusals.
 */
#include "bench/lines.h"

#include <stdlib.h>
#include <string.h>

enum { MECHANISMS_MOST = 64 };

bool lines_create(struct lines *lines, const struct bench_options *options,
                  bool (*wanted)(const struct mechanism *mechanism, const struct bench_options *options))
{
    *lines = (struct lines){ .rounds = options->rounds < ROUNDS_MOST ? options->rounds : ROUNDS_MOST };
    lines->line = calloc(MECHANISMS_MOST, sizeof *lines->line);
    for (const struct mechanism *m = mechanisms; lines->line && m->name && lines->count < MECHANISMS_MOST; m++) {
        if (wanted(m, options)) {
            struct line *line = &lines->line[lines->count++];

            line->mechanism = m;
            mechanism_side(m, options->ranks, line->text);
            line->side.text = line->text;
        }
    }
    return lines->line != NULL;
}

void lines_destroy(struct lines *lines)
{
    free(lines->line);
    *lines = (struct lines){ .count = 0 };
}

/* gpufifo's message about a call that failed: a heading, an empty line, the reason. */
static void refusal_read(const char *folder, char *reason, size_t bytes)
{
    FILE *file = side_log_open(folder);
    char text[1024];
    bool heading = false;

    reason[0] = '\0';
    while (file && !*reason && fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = '\0';
        if (heading && text[0]) {
            snprintf(reason, bytes, "%.390s", text + strspn(text, " "));
        }
        heading |= strncmp(text, "MPI_", 4) == 0 && strstr(text, " failed on rank ");
    }
    if (file) {
        fclose(file);
    }
}

static void line_run(struct line *line, int round, const char *folder, int argc, char **argv)
{
    const struct mechanism *m = line->mechanism;

    if (side_run(&line->side, round, folder, argc, argv)) {
        return;
    }
    line->failed = true;
    refusal_read(folder, line->refused, sizeof line->refused);
    if (*line->refused) {
        printf("# %s (%s) is refused: %s\n", m->name, test_name(m->test), line->refused);
    } else {
        printf("# %s (%s) could not be measured, or gave wrong results:\n", m->name, test_name(m->test));
        side_log_show(stdout, folder);
    }
    fflush(stdout);
}

void lines_run(struct lines *lines, const char *folder, int argc, char **argv, void (*after)(void *ctx, const char *folder),
               void *ctx)
{
    for (int round = 0; round < lines->rounds; round++) {
        for (int i = 0; i < lines->count; i++) {
            struct line *line = &lines->line[i];

            if (!line->failed) {
                line_run(line, round, folder, argc, argv);
            }
            if (!line->failed && after) {
                after(ctx, folder);
            }
        }
    }
    for (int i = 0; i < lines->count; i++) {
        side_finish(&lines->line[i].side, lines->rounds);
    }
}

bool line_row_counts(const struct line *line, const struct side_row *row)
{
    const struct mechanism *m = line->mechanism;

    return !line->failed && row->method == m->method && mechanism_took(m, row->path);
}

size_t lines_next_size(const struct lines *lines, enum bench_kind test, size_t bytes)
{
    size_t next = 0;

    for (int i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];

        for (int r = 0; r < line->side.rows; r++) {
            const struct side_row *row = &line->side.row[r];

            if (line->mechanism->test == test && line_row_counts(line, row) && row->bytes > bytes
                && (!next || row->bytes < next)) {
                next = row->bytes;
            }
        }
    }
    return next;
}
