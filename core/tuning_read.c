/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading a table from a file. Whoever wrote it: nothing in it may do more harm than be refused.
 */
#include "core/tuning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/work.h"

enum { LINE_BYTES = 256, ROWS_MOST = 4096, WORDS = 6, DIGITS_MOST = 15 };

static const char first_line[] = "gpufifo-tuning 1";

struct word {
    const char *word;
    int value;
};
static const struct word topologies[] = {
    { "shared", GF_TOPOLOGY_SHARED }, { "turns", GF_TOPOLOGY_TURNS }, { "devices", GF_TOPOLOGY_DEVICES }, { NULL, 0 } };
static const struct word algorithms[] = {
    { "one_shot", GF_PLAN_ONE_SHOT }, { "ring", GF_PLAN_RING }, { "two_shot", GF_PLAN_TWO_SHOT },
    { "one_shot_mapped", GF_PLAN_ONE_SHOT_MAPPED }, { "host", GF_PLAN_HOST }, { NULL, 0 } };
static const struct word ways[] = {
    { "kernel", GF_WAY_KERNEL }, { "copy_engine", GF_WAY_COPY_ENGINE }, { "stage", GF_WAY_STAGE }, { "agent", GF_WAY_AGENT },
    { "kernel_to_host", GF_WAY_KERNEL_TO_HOST }, { "copy_engine_to_host", GF_WAY_COPY_ENGINE_TO_HOST }, { "pipe", GF_WAY_PIPE },
    { "pack", GF_WAY_PACK }, { "pack_stage", GF_WAY_PACK_STAGE }, { "net", GF_WAY_NET }, { "chunks", GF_WAY_CHUNKS },
    { NULL, 0 } };

/* Of which there are rows. By enum gf_tuned. */
static const struct function {
    const char *word;
    const struct word *algorithms;
    const char *no_algorithm;      /* what is said of another word */
    uint64_t ranks_most;
    const char *no_ranks;
} functions[] = {
    { "allreduce", algorithms, "is no algorithm: write one_shot, ring, two_shot, one_shot_mapped or host",
      GF_MAX_RANKS, "is no number of ranks: write one from 2 to 64" },
    { "message", ways, "is no way of a message: write kernel, copy_engine, stage, agent, kernel_to_host, copy_engine_to_host, "
                       "pipe, pack, pack_stage, net or chunks",
      2, "is no number of ranks of a message: write 2" },
    { NULL, NULL, NULL, 0, NULL } };

/* One file under way. */
struct reading {
    FILE *file;
    const char *path;
    int line;                      /* counted from 1 */
    struct gf_tuning_row *rows;    /* [ROWS_MOST] */
    size_t count;
    struct gf_reason *why;
};

static gf_status refuse(const struct reading *reading, const char *text, const char *what)
{
    gf_reason_set(reading->why, "%.100s, line %d: \"%.40s\" %s", reading->path, reading->line, text, what);
    return GF_ERR_INVALID;
}

static bool find(const struct word *words, const char *text, int *value)
{
    while (words->word && strcmp(words->word, text) != 0) {
        words++;
    }
    *value = words->value;
    return words->word != NULL;
}

/* A whole number, or, where `fraction` is not null, a decimal one. Not strtod: that depends on the program's language. */
static bool number(const char *text, uint64_t *whole, double *fraction)
{
    size_t digits = strspn(text, "0123456789");
    double unit = 1;

    *whole = 0;
    for (size_t i = 0; i < digits && i <= DIGITS_MOST; i++) {
        *whole = *whole * 10 + (uint64_t)(text[i] - '0');
    }
    const char *rest = text + digits;

    if (fraction) {
        *fraction = 0;
        if (*rest == '.') {
            for (rest++; *rest >= '0' && *rest <= '9'; rest++) {
                unit /= 10;
                *fraction += unit * (*rest - '0');
            }
        }
    }
    return digits > 0 && digits <= DIGITS_MOST && *rest == '\0';
}

static gf_status read_row(struct reading *reading, char *const words[WORDS])
{
    const struct function *function = functions;
    struct gf_tuning_row row = { .bytes = 0 };
    uint64_t ranks, bytes, whole;
    double fraction;
    int topology, algorithm;

    while (function->word && strcmp(words[0], function->word) != 0) {
        function++;
    }
    if (!function->word) {
        return refuse(reading, words[0], "is no function that a table is for: write allreduce or message");
    }
    if (!find(topologies, words[1], &topology)) {
        return refuse(reading, words[1], "is no topology: write shared, turns or devices");
    }
    if (!number(words[2], &ranks, NULL) || ranks < 2 || ranks > function->ranks_most) {
        return refuse(reading, words[2], function->no_ranks);
    }
    if (!find(function->algorithms, words[3], &algorithm)) {
        return refuse(reading, words[3], function->no_algorithm);
    }
    if (!number(words[4], &bytes, NULL) || bytes < 1) {
        return refuse(reading, words[4], "is no number of bytes: write a whole number of at least 1");
    }
    if (!number(words[5], &whole, &fraction) || (double)whole + fraction <= 0) {
        return refuse(reading, words[5], "is no time: write microseconds above 0, such as 12.5");
    }
    if (reading->count == ROWS_MOST) {
        return refuse(reading, words[0], "begins row 4097: leave out some sizes, a table has at most 4096 rows");
    }
    row.topology = (enum gf_topology)topology;
    row.ranks = (int)ranks;
    row.function = (enum gf_tuned)(function - functions);
    row.algorithm = algorithm;
    row.bytes = (size_t)bytes;
    row.us = (double)whole + fraction;
    reading->rows[reading->count++] = row;
    return GF_OK;
}

static gf_status read_line(struct reading *reading, char *line)
{
    char *words[WORDS], *rest = NULL, whole[LINE_BYTES];
    int count = 0;

    memcpy(whole, line, LINE_BYTES);
    for (char *word = strtok_r(line, " \t", &rest); word && word[0] != '#'; word = strtok_r(NULL, " \t", &rest)) {
        if (count == WORDS) {
            return refuse(reading, whole, "has too many words: a row has function, topology, ranks, algorithm, "
                          "bytes, microseconds");
        }
        words[count++] = word;
    }
    if (count == 0) {
        return GF_OK;
    }
    if (count < WORDS) {
        return refuse(reading, whole, "has too few words: a row has function, topology, ranks, algorithm, bytes, "
                      "microseconds");
    }
    return read_row(reading, words);
}

static gf_status read_lines(struct reading *reading)
{
    char line[LINE_BYTES];
    gf_status status = GF_OK;

    while (status == GF_OK && memset(line, 0, sizeof line) && fgets(line, sizeof line, reading->file)) {
        size_t length = strcspn(line, "\r\n");

        reading->line++;
        if (line[length] == '\0' && !feof(reading->file)) {
            return refuse(reading, line, "goes on for longer than a line may, 254 characters, or holds a byte of value 0");
        }
        line[length] = '\0';
        if (reading->line > 1) {
            status = read_line(reading, line);
        } else if (strcmp(line, first_line) != 0) {
            return refuse(reading, line, "does not begin a table of this version, \"gpufifo-tuning 1\": have "
                          "gpufifo-bench --tune write one");
        }
    }
    if (status == GF_OK && ferror(reading->file)) {
        gf_reason_set(reading->why, "%.200s cannot be read: %s", reading->path, strerror(errno));
        return GF_ERR_INVALID;
    }
    if (status == GF_OK && reading->count == 0) {
        gf_reason_set(reading->why, "%.200s has no rows: have gpufifo-bench --tune write one that has", reading->path);
        return GF_ERR_INVALID;
    }
    return status;
}

/* The rows need not be in order, but none may be there twice. */
static gf_status put_in_order(struct reading *reading)
{
    qsort(reading->rows, reading->count, sizeof *reading->rows, gf_tuning_compare);
    for (size_t i = 1; i < reading->count; i++) {
        const struct gf_tuning_row *row = &reading->rows[i];

        if (gf_tuning_compare(row - 1, row) == 0) {
            gf_reason_set(reading->why, "%.100s has two rows for %d ranks and %zu bytes of one topology and algorithm, %.1f and "
                          "%.1f us: leave one", reading->path, row->ranks, row->bytes, row[-1].us, row->us);
            return GF_ERR_INVALID;
        }
    }
    return GF_OK;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static int64_t hash_of(const struct reading *reading)
{
    uint64_t hash = reading->count;

    for (size_t i = 0; i < reading->count; i++) {
        const struct gf_tuning_row *row = &reading->rows[i];
        uint64_t us;

        memcpy(&us, &row->us, sizeof us);
        hash = mix(hash, (uint64_t)row->function << 40 | (uint64_t)row->topology << 32 | (uint64_t)row->algorithm << 16
                         | (uint64_t)row->ranks);
        hash = mix(mix(hash, row->bytes), us);
    }
    return (int64_t)(hash >> 1 | 1);
}

static gf_status read_all(struct reading *reading)
{
    gf_status status = GF_ERR_NO_MEMORY;

    reading->rows = calloc(ROWS_MOST, sizeof *reading->rows);
    if (!reading->rows) {
        gf_reason_set(reading->why, "out of host memory");
    } else {
        status = read_lines(reading);
    }
    return status == GF_OK ? put_in_order(reading) : status;
}

gf_status gf_tuning_read(const char *path, struct gf_tuning **tuning, struct gf_reason *why)
{
    struct reading reading = { .file = fopen(path, "re"), .path = path, .why = why };

    *tuning = NULL;
    if (!reading.file) {
        gf_reason_set(why, "%.200s cannot be opened: %s", path, strerror(errno));
        return GF_ERR_INVALID;
    }
    gf_status status = read_all(&reading);

    fclose(reading.file);
    if (status == GF_OK && !(*tuning = malloc(sizeof **tuning))) {
        gf_reason_set(why, "out of host memory");
        status = GF_ERR_NO_MEMORY;
    }
    if (status != GF_OK) {
        free(reading.rows);
        return status;
    }
    **tuning = (struct gf_tuning){ .rows = reading.rows, .count = reading.count, .least_blocks = 1, .hash = hash_of(&reading) };
    return GF_OK;
}

void gf_tuning_destroy(struct gf_tuning *tuning)
{
    if (tuning) {
        free((void *)(uintptr_t)tuning->rows);
        free(tuning);
    }
}
