/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sides of a comparison in turn, and their figures beside one another.
 */
#include "bench/compare.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/folder.h"
#include "bench/output.h"
#include "bench/side.h"

static void report_cell(FILE *out, const struct side_row *row, const struct side_row *first, int rounds)
{
    if (!row) {
        fprintf(out, "  %13s  %21s  %9s  %-16s  %5s", "-", "", "", "", "");
        return;
    }
    double median = side_median_us(row, rounds);
    fprintf(out, "  %13.2f  (%8.2f..%9.2f)  %9.3f  %-16s  %5.2f", median, row->median_us[0], row->median_us[rounds - 1],
            side_rate(row, rounds), row->path, median / side_median_us(first, rounds));
}

static void report_sides(FILE *out, const struct side *sides, int count, int rounds)
{
    for (int i = 0; i < count; i++) {
        fprintf(out, "# side %c: %s\n", 'A' + i, sides[i].text);
    }
    fprintf(out, "# time: median of the medians of %d rounds in turn, (lowest..highest); ratio: to the time of side A\n", rounds);
    fprintf(out, "%11s  %-7s", "size(B)", "method");
    for (int i = 0; i < count; i++) {
        fprintf(out, "  %9c(us)  %21s  %9s  %-16s  ratio", 'A' + i, "(lowest..highest)", "GB/s", "path");
    }
    fprintf(out, "   wrong\n");
    for (int r = 0; r < sides[0].rows; r++) {
        const struct side_row *first = &sides[0].row[r];
        size_t wrong = 0;

        fprintf(out, "%11zu  %-7s", first->bytes, method_name(first->method));
        for (int i = 0; i < count; i++) {
            const struct side_row *row = side_find(&sides[i], first->bytes, first->method);

            report_cell(out, row, first, rounds);
            wrong += row ? row->wrong : 0;
        }
        fprintf(out, "  %6zu\n", wrong);
    }
}

static void json_sides(FILE *out, const struct side *sides, int count, int rounds)
{
    fprintf(out, "{ \"program\": \"gpufifo-bench --compare\", \"rounds\": %d,\n  \"rows\": [\n", rounds);
    for (int i = 0, first = 1; i < count; i++) {
        for (int r = 0; r < sides[i].rows; r++, first = 0) {
            const struct side_row *row = &sides[i].row[r];

            fprintf(out, "%s{\"side\": \"%c\", \"bytes\": %zu, \"method\": \"%s\", \"median_us\": %.3f, \"lowest_us\": %.3f, "
                    "\"highest_us\": %.3f, \"rate\": %.4f, \"wrong\": %zu, \"path\": \"%s\"}", first ? "" : ",\n", 'A' + i,
                    row->bytes, method_name(row->method), side_median_us(row, rounds), row->median_us[0],
                    row->median_us[rounds - 1], side_rate(row, rounds), row->wrong, row->path);
        }
    }
    fprintf(out, "\n  ]\n}\n");
}

/* False if the file cannot be written. */
static bool json_write(const char *path, const struct side *sides, int count, int rounds)
{
    FILE *out = output_open(path);

    if (!out) {
        return false;
    }
    json_sides(out, sides, count, rounds);
    return fclose(out) == 0;
}

static bool sides_run(struct side *sides, const struct bench_options *options, int rounds, int argc, char **argv)
{
    char folder[FOLDER_BYTES];
    bool ran = folder_create(folder);

    if (!ran) {
        return false;
    }
    for (int round = 0; round < rounds && ran; round++) {
        for (int i = 0; i < options->compare_count && ran; i++) {
            sides[i].text = options->compare[i];
            ran = side_run(&sides[i], round, folder, argc, argv);
        }
    }
    if (!ran) {
        fprintf(stderr, "gpufifo-bench: this side could not be measured, or gave wrong results:\n");
        side_log_show(stderr, folder);
    }
    for (int i = 0; i < options->compare_count; i++) {
        side_finish(&sides[i], rounds);
    }
    folder_remove(folder);
    return ran;
}

int compare_run(const struct bench_options *options, int argc, char **argv)
{
    int rounds = options->rounds < ROUNDS_MOST ? options->rounds : ROUNDS_MOST;

    if (options->json && !output_check(options->json)) {
        return 2;
    }
    struct side *sides = calloc((size_t)options->compare_count, sizeof *sides);
    int result = sides && sides_run(sides, options, rounds, argc, argv) ? 0 : 2;

    if (result == 0) {
        report_sides(stdout, sides, options->compare_count, rounds);
        if (options->json && !json_write(options->json, sides, options->compare_count, rounds)) {
            result = 2;
        }
    }
    free(sides);
    return result;
}
