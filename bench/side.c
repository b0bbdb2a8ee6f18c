/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting the job of a side, and reading what it measured.
 */
#include "bench/side.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/folder.h"
#include "bench/report.h"
#include "bench/samples.h"

enum { WORDS_MOST = 256 };

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

static void words_add_all(struct words *words, const struct words *more)
{
    for (int i = 0; i < more->count; i++) {
        words_add(words, more->word[i]);
    }
}

/* Our own arguments without those of the comparison. */
static void words_add_own(struct words *command, int argc, char **argv)
{
    static const char *const with_value[] = { "--compare", "--plot", "--tune", "--mechanisms", "--ranks", "--rounds", "--json" };

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

/* In the child: never returns. */
static void __attribute__((noreturn)) command_become(const struct words *command, const struct words *environment,
                                                     const char *log)
{
    int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
        _exit(126);
    }
    for (int i = 0; i < command->count; i++) {
        dprintf(2, "%s%s", command->word[i], i + 1 < command->count ? " " : "\n");
    }
    for (int i = 0; i < environment->count; i++) {
        putenv(environment->word[i]);
    }
    execvp(command->word[0], command->word);
    dprintf(2, "cannot run %s: %s\n", command->word[0], strerror(errno));
    _exit(127);
}

/* Runs the command in this environment; the folder's log gets the command and its output. True if it ended with 0. */
static bool command_run(const struct words *command, const struct words *environment, const char *folder)
{
    char log[FOLDER_PATH_BYTES];

    folder_path(folder, FOLDER_LOG, log);
    pid_t child = folder_fork();

    if (child == 0) {
        command_become(command, environment, log);
    }
    return folder_wait(folder, child);
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
        struct side_row *row = (struct side_row *)side_find(side, figures.bytes, figures.method);
        if (!row && side->rows < SIDE_ROWS_MOST) {
            row = &side->row[side->rows++];
            *row = (struct side_row){ .bytes = figures.bytes, .method = figures.method };
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

bool side_run(struct side *side, int round, const char *folder, int argc, char **argv)
{
    struct words command = { .count = 0 };
    struct side_words words = { .own.count = 0 };
    char *text = strdup(side->text), self[4096], json[FOLDER_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    folder_path(folder, FOLDER_JSON, json);
    self[length > 0 ? length : 0] = '\0';
    side_split(text, &words);
    words_add(&command, mpirun_of(&words));
    words_add_all(&command, &words.mpirun);
    words_add(&command, self);
    words_add_own(&command, argc, argv);
    words_add_all(&command, &words.own);
    words_add(&command, "--json");
    words_add(&command, json);
    bool ran = command_run(&command, &words.environment, folder) && side_read(side, json, round) > 0;
    unlink(json);
    free(text);
    return ran;
}

FILE *side_log_open(const char *folder)
{
    char log[FOLDER_PATH_BYTES];

    folder_path(folder, FOLDER_LOG, log);
    return fopen(log, "r");
}

void side_log_show(FILE *out, const char *folder)
{
    FILE *file = side_log_open(folder);
    char line[1024];

    while (file && fgets(line, sizeof line, file)) {
        fprintf(out, "  | %s", line);
    }
    if (file) {
        fclose(file);
    }
}

void side_finish(struct side *side, int rounds)
{
    for (int r = 0; r < side->rows; r++) {
        samples_sort(side->row[r].median_us, (size_t)rounds);
    }
}

const struct side_row *side_find(const struct side *side, size_t bytes, enum method method)
{
    for (int i = 0; i < side->rows; i++) {
        if (side->row[i].bytes == bytes && side->row[i].method == method) {
            return &side->row[i];
        }
    }
    return NULL;
}

double side_median_us(const struct side_row *row, int rounds)
{
    return samples_at(row->median_us, (size_t)rounds, 0.5);
}

double side_rate(const struct side_row *row, int rounds)
{
    return row->volume / side_median_us(row, rounds);
}
