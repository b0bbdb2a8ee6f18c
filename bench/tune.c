/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measuring, the table, and what to say of it.
 */
#include "bench/tune.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/cliffs.h"
#include "bench/folder.h"
#include "bench/lines.h"
#include "bench/table.h"

/* What the table calls a mechanism. Those whose kernels wait for one another are for ranks whose kernels run at once, the others
 * for those that take turns. */
static const struct tuned {
    const char *mechanism, *word;
    bool waits;
} all_tuned[] = {
    { "ll", "one_shot", true }, { "simple_receiver", "ring", true }, { "two_shot", "two_shot", true },
    { "host_sequenced", "host", false }, { "one_shot_mapped", "one_shot_mapped", false },
};

/* What is being done. */
struct tune {
    const struct bench_options *options;
    struct lines lines;
    char topology[16];             /* as the jobs told it; empty: none did */
    char machine[3][204];          /* the first lines of a job's report, without "# " */
};

static const struct tuned *tuned_of(const struct mechanism *mechanism)
{
    for (size_t i = 0; i < sizeof all_tuned / sizeof *all_tuned; i++) {
        if (mechanism->test == BENCH_ALLREDUCE && strcmp(mechanism->name, all_tuned[i].mechanism) == 0) {
            return &all_tuned[i];
        }
    }
    return NULL;
}

static bool is_waiting(const struct mechanism *mechanism, const struct bench_options *options)
{
    const struct tuned *tuned = tuned_of(mechanism);

    (void)options;
    return tuned && tuned->waits;
}

static bool is_in_turn(const struct mechanism *mechanism, const struct bench_options *options)
{
    const struct tuned *tuned = tuned_of(mechanism);

    (void)options;
    return tuned && !tuned->waits;
}

/* How the communicator's ranks share devices is a line of the component's, the machine some of the bench's. */
static void log_look(void *ctx, const char *folder)
{
    static const struct { const char *phrase, *topology; } told[] = {
        { "share a device whose processes run side by side", "shared" }, { "each rank has a device of its own", "devices" },
        { "share a device that runs one process at a time", "turns" }, { "share a device with too few blocks", "turns" },
    };
    struct tune *tune = ctx;
    FILE *file = side_log_open(folder);
    char line[1024];
    int heading = 0;

    while (file && fgets(line, sizeof line, file)) {
        for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
            if (strstr(line, told[i].phrase)) {
                snprintf(tune->topology, sizeof tune->topology, "%s", told[i].topology);
            }
        }
        if (strncmp(line, "# ", 2) == 0 && heading < 3) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(tune->machine[heading++], sizeof tune->machine[0], "%.200s", line + 2);
        }
    }
    if (file) {
        fclose(file);
    }
}

/* Of a line at a size; negative: it has none. */
static double us_of(const struct tune *tune, const struct line *line, size_t bytes)
{
    const struct side_row *row = side_find(&line->side, bytes, METHOD_DIRECT);

    return row && line_row_counts(line, row) ? side_median_us(row, tune->lines.rounds) : -1;
}

static const struct line *fastest(const struct tune *tune, size_t bytes)
{
    const struct line *best = NULL;

    for (int i = 0; i < tune->lines.count; i++) {
        const struct line *line = &tune->lines.line[i];
        double us = us_of(tune, line, bytes);

        if (us >= 0 && (!best || us < us_of(tune, best, bytes))) {
            best = line;
        }
    }
    return best;
}

static size_t size_after(const struct tune *tune, size_t bytes)
{
    return lines_next_size(&tune->lines, BENCH_ALLREDUCE, bytes);
}

static void write_rows(FILE *out, const void *ctx)
{
    const struct tune *tune = ctx;
    int ranks = tune->options->ranks;
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;

    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
    fprintf(out, "# %s %d: measured %s, medians of %d rounds\n", tune->topology, ranks, date, tune->lines.rounds);
    for (int i = 0; i < 3; i++) {
        fprintf(out, "# %s %d: %s\n", tune->topology, ranks, tune->machine[i]);
    }
    for (int i = 0; i < tune->lines.count; i++) {
        const struct line *line = &tune->lines.line[i];

        for (size_t bytes = 0; (bytes = size_after(tune, bytes)) > 0;) {
            if (us_of(tune, line, bytes) > 0) {
                fprintf(out, "allreduce %s %d %s %zu %.2f\n", tune->topology, ranks, tuned_of(line->mechanism)->word, bytes,
                        us_of(tune, line, bytes));
            }
        }
    }
}

static void report_figures(const struct tune *tune)
{
    printf("# allreduce, %s, %d ranks: microseconds, and the fastest\n%11s", tune->topology, tune->options->ranks, "size(B)");
    for (int i = 0; i < tune->lines.count; i++) {
        printf("  %15s", tuned_of(tune->lines.line[i].mechanism)->word);
    }
    for (size_t bytes = 0; (bytes = size_after(tune, bytes)) > 0;) {
        printf("\n%11zu", bytes);
        for (int i = 0; i < tune->lines.count; i++) {
            double us = us_of(tune, &tune->lines.line[i], bytes);

            if (us < 0) {
                printf("  %15s", "-");
            } else {
                printf("  %15.2f", us);
            }
        }
        printf("  %s", tuned_of(fastest(tune, bytes)->mechanism)->word);
    }
    printf("\n");
}

/* Of what will be chosen, between neighbouring sizes. */
static void report_cliffs(const struct tune *tune)
{
    int cliffs = 0;

    for (size_t bytes = size_after(tune, 0), larger; (larger = size_after(tune, bytes)) > 0; bytes = larger) {
        const struct line *line = fastest(tune, bytes), *next = fastest(tune, larger);
        double us = us_of(tune, line, bytes), larger_us = us_of(tune, next, larger);

        if (cliff_between(bytes, us, larger, larger_us) != CLIFF_NONE) {
            printf("# cliff: %zu B take %.2f us by %s, %zu B take %.2f us by %s\n", bytes, us,
                   tuned_of(line->mechanism)->word, larger, larger_us, tuned_of(next->mechanism)->word);
            cliffs++;
        }
    }
    if (cliffs == 0) {
        printf("# no cliffs: between neighbouring sizes time is monotone, and at most in proportion, within 20 %%\n");
    }
}

/* The kernels that wait, and if none of them can run here, the others. */
static bool measure(struct tune *tune, const char *folder, int argc, char **argv)
{
    bool (*const wanted[])(const struct mechanism *, const struct bench_options *) = { is_waiting, is_in_turn };

    for (int i = 0; i < 2 && size_after(tune, 0) == 0; i++) {
        lines_destroy(&tune->lines);
        if (!lines_create(&tune->lines, tune->options, wanted[i])) {
            return false;
        }
        lines_run(&tune->lines, folder, argc, argv, log_look, tune);
    }
    return size_after(tune, 0) > 0 && tune->topology[0];
}

int tune_run(const struct bench_options *options, int argc, char **argv)
{
    struct tune tune = { .options = options };
    char folder[FOLDER_BYTES];
    int result = 2;

    if (!table_check(options->tune) || !folder_create(folder)) {
        return 2;
    }
    if (!measure(&tune, folder, argc, argv)) {
        fprintf(stderr, "gpufifo-bench: no table: no algorithm could be measured\n");
    } else {
        const struct table_part part = { tune.topology, options->ranks };

        report_figures(&tune);
        report_cliffs(&tune);
        result = table_write(options->tune, &part, write_rows, &tune) ? 0 : 2;
    }
    for (int i = 0; i < tune.lines.count && result == 0; i++) {
        result = tune.lines.line[i].failed && !*tune.lines.line[i].refused;
    }
    lines_destroy(&tune.lines);
    folder_remove(folder);
    return result;
}
