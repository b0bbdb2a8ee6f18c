/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting the sides of a comparison in turn, and merging what they measured.
 */
#include "bench/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/report.h"
#include "bench/samples.h"

enum { WORDS_MOST = 256, ROWS_MOST = 128, ROUNDS_MOST = 100 };

/* The medians that one side measured for one size and method, by round. */
struct row {
    size_t bytes;
    enum method method;
    double median_us[ROUNDS_MOST];     /* sorted once all rounds are in */
    double volume;                     /* GB/s times µs: what a call moves, as its test counts it */
    size_t wrong;
    char path[64];
};

struct side {
    const char *text;
    int rows;
    struct row row[ROWS_MOST];
};

/* A list of words that belong to others. */
struct words {
    char *word[WORDS_MOST + 1];
    int count;
};

/* A side's text, taken apart. */
struct side_words {
    struct words environment, mpirun, own;
};

static void words_add(struct words *words, char *word)
{
    if (words->count == WORDS_MOST) {
        fprintf(stderr, "gpufifo-bench: more than %d words in one command\n", WORDS_MOST);
        exit(2);
    }
    words->word[words->count++] = word;
    words->word[words->count] = NULL;
}

/* Our own arguments without those of the comparison. */
static void words_add_own(struct words *command, int argc, char **argv)
{
    static const char *const with_value[] = { "--compare", "--rounds", "--json" };

    for (int i = 1; i < argc; i++) {
        bool drop = false;

        for (size_t k = 0; k < sizeof with_value / sizeof *with_value; k++) {
            size_t length = strlen(with_value[k]);
            drop |= strncmp(argv[i], with_value[k], length) == 0 && (argv[i][length] == '\0' || argv[i][length] == '=');
        }
        if (!drop) {
            words_add(command, argv[i]);
        } else if (!strchr(argv[i], '=')) {
            i++;
        }
    }
}

/* Splits text (changed) at blanks: NAME=VALUE words up to the first other one, words up to "--", words behind it. */
static void side_split(char *text, struct side_words *side)
{
    struct words *to = &side->environment;

    for (char *rest = NULL, *word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        if (to == &side->environment && (*word == '-' || !strchr(word, '='))) {
            to = &side->mpirun;
        }
        if (to == &side->mpirun && strcmp(word, "--") == 0) {
            to = &side->own;
        } else {
            words_add(to, word);
        }
    }
}

/* The side's own MPIRUN, else that of the environment. */
static char *mpirun_of(const struct side_words *side)
{
    char *mpirun = getenv("MPIRUN");

    for (int i = 0; i < side->environment.count; i++) {
        if (strncmp(side->environment.word[i], "MPIRUN=", 7) == 0) {
            mpirun = side->environment.word[i] + 7;
        }
    }
    return mpirun && *mpirun ? mpirun : "mpirun";
}

/* Runs the command in this environment with its output in the file `log`. True if it ended with 0. */
static bool command_run(const struct words *command, const struct words *environment, const char *log)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
            _exit(126);
        }
        for (int i = 0; i < environment->count; i++) {
            putenv(environment->word[i]);
        }
        execvp(command->word[0], command->word);
        fprintf(stderr, "cannot run %s: %s\n", command->word[0], strerror(errno));
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The row of this size and method, or null. */
static struct row *row_find(const struct side *side, size_t bytes, enum method method)
{
    for (int i = 0; i < side->rows; i++) {
        if (side->row[i].bytes == bytes && side->row[i].method == method) {
            return (struct row *)&side->row[i];
        }
    }
    return NULL;
}

static int side_read(struct side *side, const char *path, int round)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    struct figures figures;
    int rows = 0;

    while (file && fgets(line, sizeof line, file)) {
        if (!json_row_read(line, &figures)) {
            continue;
        }
        struct row *row = row_find(side, figures.bytes, figures.method);
        if (!row && side->rows < ROWS_MOST) {
            row = &side->row[side->rows++];
            *row = (struct row){ .bytes = figures.bytes, .method = figures.method };
        }
        if (row) {
            row->median_us[round] = figures.median_us;
            row->volume = figures.rate[0] * figures.median_us;
            row->wrong += figures.wrong;
            snprintf(row->path, sizeof row->path, "%s", figures.path);
            rows++;
        }
    }
    if (file) {
        fclose(file);
    }
    return rows;
}

static void show_failure(const struct words *command, const char *log)
{
    FILE *file = fopen(log, "r");
    char line[1024];

    fprintf(stderr, "gpufifo-bench: this side could not be measured, or gave wrong results:");
    for (int i = 0; i < command->count; i++) {
        fprintf(stderr, " %s", command->word[i]);
    }
    fprintf(stderr, "\n");
    while (file && fgets(line, sizeof line, file)) {
        fprintf(stderr, "  | %s", line);
    }
    if (file) {
        fclose(file);
    }
}

static bool side_run(struct side *side, int round, const char *folder, int argc, char **argv)
{
    struct words command = { .count = 0 };
    struct side_words words = { .own.count = 0 };
    char *text = strdup(side->text), self[4096], json[512], log[512];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    snprintf(json, sizeof json, "%s/json", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    self[length > 0 ? length : 0] = '\0';
    side_split(text, &words);
    words_add(&command, mpirun_of(&words));
    for (int i = 0; i < words.mpirun.count; i++) {
        words_add(&command, words.mpirun.word[i]);
    }
    words_add(&command, self);
    words_add_own(&command, argc, argv);
    for (int i = 0; i < words.own.count; i++) {
        words_add(&command, words.own.word[i]);
    }
    words_add(&command, "--json");
    words_add(&command, json);
    bool ran = command_run(&command, &words.environment, log) && side_read(side, json, round) > 0;
    if (!ran) {
        show_failure(&command, log);
    }
    unlink(json);
    unlink(log);
    free(text);
    return ran;
}

static void report_cell(FILE *out, const struct row *row, const struct row *first, int rounds)
{
    if (!row) {
        fprintf(out, "  %13s  %21s  %9s  %-16s  %5s", "-", "", "", "", "");
        return;
    }
    double median = samples_at(row->median_us, (size_t)rounds, 0.5);
    fprintf(out, "  %13.2f  (%8.2f..%9.2f)  %9.3f  %-16s  %5.2f", median, row->median_us[0], row->median_us[rounds - 1],
            row->volume / median, row->path, median / samples_at(first->median_us, (size_t)rounds, 0.5));
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
        const struct row *first = &sides[0].row[r];
        size_t wrong = 0;

        fprintf(out, "%11zu  %-7s", first->bytes, method_name(first->method));
        for (int i = 0; i < count; i++) {
            const struct row *row = row_find(&sides[i], first->bytes, first->method);

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
            const struct row *row = &sides[i].row[r];
            double median = samples_at(row->median_us, (size_t)rounds, 0.5);

            fprintf(out, "%s{\"side\": \"%c\", \"bytes\": %zu, \"method\": \"%s\", \"median_us\": %.3f, \"lowest_us\": %.3f, "
                    "\"highest_us\": %.3f, \"rate\": %.4f, \"wrong\": %zu, \"path\": \"%s\"}", first ? "" : ",\n", 'A' + i,
                    row->bytes, method_name(row->method), median, row->median_us[0], row->median_us[rounds - 1],
                    row->volume / median, row->wrong, row->path);
        }
    }
    fprintf(out, "\n  ]\n}\n");
}

/* False if the file cannot be written. */
static bool json_write(const char *path, const struct side *sides, int count, int rounds)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        fprintf(stderr, "gpufifo-bench: cannot write %s: %s\n", path, strerror(errno));
        return false;
    }
    json_sides(out, sides, count, rounds);
    return fclose(out) == 0;
}

static bool sides_run(struct side *sides, const struct bench_options *options, int rounds, int argc, char **argv)
{
    char folder[] = "/tmp/gpufifo-bench.XXXXXX";
    bool ran = mkdtemp(folder) != NULL;

    for (int round = 0; round < rounds && ran; round++) {
        for (int i = 0; i < options->compare_count && ran; i++) {
            sides[i].text = options->compare[i];
            ran = side_run(&sides[i], round, folder, argc, argv);
        }
    }
    for (int i = 0; i < options->compare_count; i++) {
        for (int r = 0; r < sides[i].rows; r++) {
            samples_sort(sides[i].row[r].median_us, (size_t)rounds);
        }
    }
    rmdir(folder);
    return ran;
}

int compare_run(const struct bench_options *options, int argc, char **argv)
{
    int rounds = options->rounds < ROUNDS_MOST ? options->rounds : ROUNDS_MOST;
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
