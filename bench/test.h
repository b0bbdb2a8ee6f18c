/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What gpufifo-bench can measure. A test is a table of functions; measure.c calls them, size after size.
 */
#ifndef BENCH_TEST_H
#define BENCH_TEST_H

#include "bench/measure.h"

/* Of collectives that have one. */
enum { BENCH_ROOT = 0 };

/* A column of the table and of the JSON rows. */
struct bench_column {
    const char *key;                   /* in JSON */
    const char *heading;
};

/* bytes: the size of a message. count: what `count` gave for it. All calls are collective, in the same order on all ranks. */
struct bench_test {
    struct bench_column count_column, rate_column[BENCH_RATES];

    /* What is measured, for the first line of the report. */
    void (*title)(const struct bench *bench, char *text, size_t bytes);
    /* Why it cannot be run with these ranks and options; null if it can. */
    const char *(*unfit)(const struct bench *bench);
    /* The kinds of memory of this rank's send and receive buffer, and the bytes of each for messages of at most options->max. */
    void (*memory)(const struct bench *bench, enum gpufifo_memory *send, enum gpufifo_memory *recv, size_t *bytes);
    /* Elements of a call, or messages of a sample; 0 if this size cannot be measured. May round bytes down. */
    size_t (*count)(const struct bench *bench, size_t *bytes);
    /* Prepares both buffers; a result that does not arrive must not look right. */
    void (*fill)(const struct bench *bench, size_t bytes, size_t count);
    /* What is wrong in this rank's receive buffer after one sample. */
    size_t (*count_wrong)(const struct bench *bench, size_t bytes, size_t count);
    /* Runs one sample. The time in µs, or 0 at ranks that do not take it. */
    double (*sample)(const struct bench *bench, enum method method, size_t bytes, size_t count);
    /* How many ranks take the time. */
    int (*timers)(const struct bench *bench);
    /* Fills in the rates from the median. */
    void (*rates)(const struct bench *bench, struct figures *figures);
};

/* Allreduce, reduce, reduce-scatter and scan; reduction.c */
extern const struct bench_test reduction_test;

/* Alltoall, allgather, bcast, gather and scatter; exchange.c */
extern const struct bench_test exchange_test;

/* Point-to-point, by two ranks or pairs of them; pt2pt.c */
extern const struct bench_test latency_test, bandwidth_test, bibandwidth_test, multi_test;

#endif
