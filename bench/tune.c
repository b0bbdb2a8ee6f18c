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

/* A mechanism is measured, or also one of those of which the fastest is taken for the bench's own buffers. */
enum use { UNUSED, MEASURED, RIVAL };

/* What the table calls a mechanism. Some are for ranks whose kernels run at once, as those whose kernels wait for one another,
 * some for those that take turns. */
static const struct tuned {
    enum bench_kind test;
    const char *mechanism, *word;
    enum use at_once, in_turn;
} all_tuned[] = {
    { BENCH_ALLREDUCE, "ll", "one_shot", RIVAL, UNUSED }, { BENCH_ALLREDUCE, "simple_receiver", "ring", RIVAL, UNUSED },
    { BENCH_ALLREDUCE, "two_shot", "two_shot", RIVAL, UNUSED }, { BENCH_ALLREDUCE, "host_sequenced", "host", UNUSED, RIVAL },
    { BENCH_ALLREDUCE, "one_shot_mapped", "one_shot_mapped", UNUSED, RIVAL },
    { BENCH_LATENCY, "pull_kernel", "kernel", RIVAL, RIVAL }, { BENCH_LATENCY, "pull_copy_engine", "copy_engine", RIVAL, UNUSED },
    { BENCH_LATENCY, "pull_agent", "agent", RIVAL, UNUSED }, { BENCH_LATENCY, "stage", "stage", MEASURED, RIVAL },
    { BENCH_LATENCY, "pipe", "pipe", MEASURED, MEASURED },
};

/* What they do, as the table calls it. */
static const struct function {
    enum bench_kind test;
    const char *word;
} functions[] = { { BENCH_ALLREDUCE, "allreduce" }, { BENCH_LATENCY, "message" } };
enum { FUNCTIONS = sizeof functions / sizeof *functions };

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
        if (mechanism->test == all_tuned[i].test && strcmp(mechanism->name, all_tuned[i].mechanism) == 0) {
            return &all_tuned[i];
        }
    }
    return NULL;
}

/* A message has two ranks. */
static bool is_wanted(const struct tuned *tuned, const struct bench_options *options)
{
    return tuned && (tuned->test != BENCH_LATENCY || options->ranks == 2);
}

static bool is_at_once(const struct mechanism *mechanism, const struct bench_options *options)
{
    const struct tuned *tuned = tuned_of(mechanism);

    return is_wanted(tuned, options) && tuned->at_once != UNUSED;
}

static bool is_in_turn(const struct mechanism *mechanism, const struct bench_options *options)
{
    const struct tuned *tuned = tuned_of(mechanism);

    return is_wanted(tuned, options) && tuned->in_turn != UNUSED;
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

static bool is_of(const struct line *line, const struct function *function)
{
    return line->mechanism->test == function->test;
}

static bool is_rival(const struct tune *tune, const struct line *line)
{
    const struct tuned *tuned = tuned_of(line->mechanism);

    return (strcmp(tune->topology, "turns") == 0 ? tuned->in_turn : tuned->at_once) == RIVAL;
}

/* Null: none of the rivals was measured at this size. */
static const struct line *fastest(const struct tune *tune, const struct function *function, size_t bytes)
{
    const struct line *best = NULL;

    for (int i = 0; i < tune->lines.count; i++) {
        const struct line *line = &tune->lines.line[i];
        double us = is_of(line, function) && is_rival(tune, line) ? us_of(tune, line, bytes) : -1;

        if (us >= 0 && (!best || us < us_of(tune, best, bytes))) {
            best = line;
        }
    }
    return best;
}

static size_t size_after(const struct tune *tune, const struct function *function, size_t bytes)
{
    return lines_next_size(&tune->lines, function->test, bytes);
}

static void write_line(FILE *out, const struct tune *tune, const struct function *function, const struct line *line)
{
    for (size_t bytes = 0; (bytes = size_after(tune, function, bytes)) > 0;) {
        if (us_of(tune, line, bytes) > 0) {
            fprintf(out, "%s %s %d %s %zu %.2f\n", function->word, tune->topology, tune->options->ranks,
                    tuned_of(line->mechanism)->word, bytes, us_of(tune, line, bytes));
        }
    }
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
    for (int i = 0; i < FUNCTIONS * tune->lines.count; i++) {
        const struct function *function = &functions[i / tune->lines.count];
        const struct line *line = &tune->lines.line[i % tune->lines.count];

        if (is_of(line, function)) {
            write_line(out, tune, function, line);
        }
    }
}

static void report_size(const struct tune *tune, const struct function *function, size_t bytes)
{
    const struct line *best = fastest(tune, function, bytes);

    printf("\n%11zu", bytes);
    for (int i = 0; i < tune->lines.count; i++) {
        const struct line *line = &tune->lines.line[i];
        double us = us_of(tune, line, bytes);

        if (!is_of(line, function)) {
            continue;
        }
        if (us < 0) {
            printf("  %15s", "-");
        } else {
            printf("  %15.2f", us);
        }
    }
    printf("  %s", best ? tuned_of(best->mechanism)->word : "-");
}

static void report_figures(const struct tune *tune, const struct function *function)
{
    printf("# %s, %s, %d ranks: microseconds, and the fastest\n%11s", function->word, tune->topology, tune->options->ranks,
           "size(B)");
    for (int i = 0; i < tune->lines.count; i++) {
        if (is_of(&tune->lines.line[i], function)) {
            printf("  %15s", tuned_of(tune->lines.line[i].mechanism)->word);
        }
    }
    for (size_t bytes = 0; (bytes = size_after(tune, function, bytes)) > 0;) {
        report_size(tune, function, bytes);
    }
    printf("\n");
}

/* Of what will be chosen, between neighbouring sizes. */
static void report_cliffs(const struct tune *tune, const struct function *function)
{
    int cliffs = 0;

    for (size_t bytes = size_after(tune, function, 0), larger; (larger = size_after(tune, function, bytes)) > 0; bytes = larger) {
        const struct line *line = fastest(tune, function, bytes), *next = fastest(tune, function, larger);

        if (!line || !next) {
            continue;
        }
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

/* What is for ranks whose kernels run at once, and if no allreduce of these can run here, the others. */
static bool measure(struct tune *tune, const char *folder, int argc, char **argv)
{
    bool (*const wanted[])(const struct mechanism *, const struct bench_options *) = { is_at_once, is_in_turn };

    for (int i = 0; i < 2 && size_after(tune, functions, 0) == 0; i++) {
        lines_destroy(&tune->lines);
        if (!lines_create(&tune->lines, tune->options, wanted[i])) {
            return false;
        }
        lines_run(&tune->lines, folder, argc, argv, log_look, tune);
    }
    return size_after(tune, functions, 0) > 0 && tune->topology[0];
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

        for (int i = 0; i < FUNCTIONS && size_after(&tune, &functions[i], 0) > 0; i++) {
            report_figures(&tune, &functions[i]);
            report_cliffs(&tune, &functions[i]);
        }
        result = table_write(options->tune, &part, write_rows, &tune) ? 0 : 2;
    }
    for (int i = 0; i < tune.lines.count && result == 0; i++) {
        result = tune.lines.line[i].failed && !*tune.lines.line[i].refused;
    }
    lines_destroy(&tune.lines);
    folder_remove(folder);
    return result;
}
