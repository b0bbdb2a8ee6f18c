/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mechanisms in turn: figures, refusals, drawing.
 */
#include "bench/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/mechanisms.h"
#include "bench/plotter.h"
#include "bench/side.h"

enum { MECHANISMS_MOST = 64 };

/* One mechanism and what became of it. */
struct line {
    const struct mechanism *mechanism;
    char text[MECHANISM_SIDE_BYTES];
    struct side side;
    bool failed;                   /* it has no figures; refused: why, or empty if nothing refused it */
    char refused[400];
};

struct lines {
    struct line *line;
    int count, rounds;
};

static bool lines_create(struct lines *lines, const struct bench_options *options)
{
    *lines = (struct lines){ .rounds = options->rounds < ROUNDS_MOST ? options->rounds : ROUNDS_MOST };
    lines->line = calloc(MECHANISMS_MOST, sizeof *lines->line);
    for (const struct mechanism *m = mechanisms; lines->line && m->name && lines->count < MECHANISMS_MOST; m++) {
        if (mechanism_in(m, options->mechanisms)) {
            struct line *line = &lines->line[lines->count++];

            line->mechanism = m;
            mechanism_side(m, options->ranks, line->text);
            line->side.text = line->text;
        }
    }
    return lines->line != NULL;
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

static void lines_run(struct lines *lines, const char *folder, int argc, char **argv)
{
    for (int round = 0; round < lines->rounds; round++) {
        for (int i = 0; i < lines->count; i++) {
            if (!lines->line[i].failed) {
                line_run(&lines->line[i], round, folder, argc, argv);
            }
        }
    }
    for (int i = 0; i < lines->count; i++) {
        side_finish(&lines->line[i].side, lines->rounds);
    }
}

/* Is the row this mechanism's, and not that of a path which was taken instead? */
static bool row_counts(const struct line *line, const struct side_row *row)
{
    const struct mechanism *m = line->mechanism;

    return !line->failed && row->method == m->method && mechanism_took(m, row->path);
}

/* The smallest size above `bytes` that a mechanism of this test has; 0 if there is none. */
static size_t next_size(const struct lines *lines, enum bench_kind test, size_t bytes)
{
    size_t next = 0;

    for (int i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];

        for (int r = 0; r < line->side.rows; r++) {
            const struct side_row *row = &line->side.row[r];

            if (line->mechanism->test == test && row_counts(line, row) && row->bytes > bytes && (!next || row->bytes < next)) {
                next = row->bytes;
            }
        }
    }
    return next;
}

static bool has_column(const struct line *line, enum bench_kind test)
{
    return line->mechanism->test == test && !line->failed;
}

static void report_test(const struct lines *lines, enum bench_kind test, int ranks)
{
    printf("# %s, %d ranks: GB/s, by the median of the medians of %d rounds\n%11s", test_name(test), ranks, lines->rounds,
           "size(B)");
    for (int i = 0; i < lines->count; i++) {
        if (has_column(&lines->line[i], test)) {
            printf("  %16s", lines->line[i].mechanism->name);
        }
    }
    for (size_t bytes = 0; (bytes = next_size(lines, test, bytes)) > 0;) {
        printf("\n%11zu", bytes);
        for (int i = 0; i < lines->count; i++) {
            const struct line *line = &lines->line[i];
            const struct side_row *row = side_find(&line->side, bytes, line->mechanism->method);

            if (!has_column(line, test)) {
                continue;
            }
            if (row && row_counts(line, row)) {
                printf("  %16.3f", side_rate(row, lines->rounds));
            } else {
                printf("  %16s", "-");
            }
        }
    }
    printf("\n");
}

/* Sizes that a mechanism gives to another one. */
static void report_left_out(const struct line *line)
{
    for (int r = 0; r < line->side.rows; r++) {
        const struct side_row *row = &line->side.row[r];

        if (!line->failed && row->method == line->mechanism->method && !row_counts(line, row)) {
            printf("# %s: %zu B is left out: such calls went by %s\n", line->mechanism->name, row->bytes, row->path);
        }
    }
}

static void json_row_of(FILE *out, const struct mechanism *mechanism, const struct side_row *row, int rounds)
{
    fprintf(out, "{\"side\": \"%s\", \"test\": \"%s\", \"bytes\": %zu, \"method\": \"%s\", \"median_us\": %.3f, \"rate\": %.4f, "
            "\"path\": \"%s\"}", mechanism->name, test_name(mechanism->test), row->bytes, method_name(row->method),
            side_median_us(row, rounds), side_rate(row, rounds), row->path);
}

static void json_rows(FILE *out, const struct lines *lines)
{
    const char *before = "";

    for (int i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];

        for (int r = 0; r < line->side.rows; r++) {
            if (row_counts(line, &line->side.row[r])) {
                fputs(before, out);
                json_row_of(out, line->mechanism, &line->side.row[r], lines->rounds);
                before = ",\n";
            }
        }
    }
}

static bool json_write(const char *path, const struct lines *lines, int ranks)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        fprintf(stderr, "gpufifo-bench: cannot write %s: %s\n", path, strerror(errno));
        return false;
    }
    fprintf(out, "{ \"program\": \"gpufifo-bench --plot\", \"ranks\": %d, \"rounds\": %d,\n  \"rows\": [\n", ranks,
            lines->rounds);
    json_rows(out, lines);
    fprintf(out, "\n  ]\n}\n");
    return fclose(out) == 0;
}

static void report(const struct lines *lines, int ranks)
{
    for (int i = 0; i < lines->count; i++) {
        report_left_out(&lines->line[i]);
    }
    if (next_size(lines, BENCH_ALLREDUCE, 0)) {
        report_test(lines, BENCH_ALLREDUCE, ranks);
    }
    if (next_size(lines, BENCH_LATENCY, 0)) {
        report_test(lines, BENCH_LATENCY, 2);
    }
}

/* The figures go to the plotter by a file, which the user may want, too. */
static bool draw(const struct bench_options *options, const struct lines *lines, const char *folder)
{
    char own[SIDE_FOLDER_BYTES + 8];

    snprintf(own, sizeof own, "%s/plot", folder);
    const char *json = options->json ? options->json : own;
    bool drawn = json_write(json, lines, options->ranks) && plotter_draw(options->plot, json);

    unlink(own);
    return drawn;
}

int plot_run(const struct bench_options *options, int argc, char **argv)
{
    char folder[SIDE_FOLDER_BYTES];
    struct lines lines;
    int result = 2;

    if (!plotter_check() || !side_folder_create(folder)) {
        return 2;
    }
    if (lines_create(&lines, options)) {
        lines_run(&lines, folder, argc, argv);
        report(&lines, options->ranks);
        if (!next_size(&lines, BENCH_ALLREDUCE, 0) && !next_size(&lines, BENCH_LATENCY, 0)) {
            fprintf(stderr, "gpufifo-bench: nothing to draw: no mechanism could be measured\n");
        } else if (draw(options, &lines, folder)) {
            result = 0;
        }
    }
    for (int i = 0; i < lines.count && result == 0; i++) {
        result = lines.line[i].failed && !*lines.line[i].refused;
    }
    free(lines.line);
    side_folder_remove(folder);
    return result;
}
