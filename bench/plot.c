/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The figures of all mechanisms, side by side and drawn.
 */
#include "bench/plot.h"

#include <stdio.h>

#include "bench/folder.h"
#include "bench/lines.h"
#include "bench/output.h"
#include "bench/plotter.h"

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
    for (size_t bytes = 0; (bytes = lines_next_size(lines, test, bytes)) > 0;) {
        printf("\n%11zu", bytes);
        for (int i = 0; i < lines->count; i++) {
            const struct line *line = &lines->line[i];
            const struct side_row *row = side_find(&line->side, bytes, line->mechanism->method);

            if (!has_column(line, test)) {
                continue;
            }
            if (row && line_row_counts(line, row)) {
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

        if (!line->failed && row->method == line->mechanism->method && !line_row_counts(line, row)) {
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
            if (line_row_counts(line, &line->side.row[r])) {
                fputs(before, out);
                json_row_of(out, line->mechanism, &line->side.row[r], lines->rounds);
                before = ",\n";
            }
        }
    }
}

static bool json_write(const char *path, const struct lines *lines, int ranks)
{
    FILE *out = output_open(path);

    if (!out) {
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
    if (lines_next_size(lines, BENCH_ALLREDUCE, 0)) {
        report_test(lines, BENCH_ALLREDUCE, ranks);
    }
    if (lines_next_size(lines, BENCH_LATENCY, 0)) {
        report_test(lines, BENCH_LATENCY, 2);
    }
}

/* The figures go to the plotter by a file, which the user may want, too. */
static bool draw(const struct bench_options *options, const struct lines *lines, const char *folder)
{
    char own[FOLDER_PATH_BYTES];

    folder_path(folder, FOLDER_PLOT, own);
    const char *json = options->json ? options->json : own;

    return json_write(json, lines, options->ranks) && plotter_draw(options->plot, json);
}

static bool is_wanted(const struct mechanism *mechanism, const struct bench_options *options)
{
    return mechanism_in(mechanism, options->mechanisms);
}

int plot_run(const struct bench_options *options, int argc, char **argv)
{
    char folder[FOLDER_BYTES];
    struct lines lines;
    int result = 2;

    if (!plotter_check(options->plot) || !output_check(options->plot) || (options->json && !output_check(options->json))
        || !folder_create(folder)) {
        return 2;
    }
    if (lines_create(&lines, options, is_wanted)) {
        lines_run(&lines, folder, argc, argv, NULL, NULL);
        report(&lines, options->ranks);
        if (!lines_next_size(&lines, BENCH_ALLREDUCE, 0) && !lines_next_size(&lines, BENCH_LATENCY, 0)) {
            fprintf(stderr, "gpufifo-bench: nothing to draw: no mechanism could be measured\n");
        } else if (draw(options, &lines, folder)) {
            result = 0;
        }
    }
    for (int i = 0; i < lines.count && result == 0; i++) {
        result = lines.line[i].failed && !*lines.line[i].refused;
    }
    lines_destroy(&lines);
    folder_remove(folder);
    return result;
}
