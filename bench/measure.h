/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures a test at one size, by one method or by two in turn, and checks the results before and after.
 *
 * A test says what a sample is (test.h). A sample is the mean over the ranks that take the time; from the samples come the median
 * and the percentiles.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>

#include "bench/options.h"
#include "examples/paths.h"

enum method {
    METHOD_DIRECT,             /* the library on the buffers as they are */
    METHOD_STAGED,             /* copy to pinned host memory, MPI there, copy back */
    METHOD_COUNT
};

const char *method_name(enum method method);

enum { BENCH_RATES = 2 };

struct nccl;

/* Owned by main. */
struct bench {
    const struct bench_options *options;
    const struct bench_test *test;
    gpufifo_device *device;
    int rank, ranks;
    void *send, *recv;                /* of as many bytes as the test wants */
    void *host_send, *host_recv;      /* pinned; null unless staged */
    struct paths_counters counters;
    struct nccl *nccl;                /* does what is direct; null: MPI does */
    double *samples;                  /* of this rank, by method */
    double *means;                    /* over the ranks that take the time, at rank 0 */
};

/* The figures of one size and method. The times and rates are right at rank 0 only. */
struct figures {
    size_t bytes, count;              /* count: what the test says */
    enum method method;
    double median_us, p5_us, p95_us;
    double rate[BENCH_RATES];         /* what the test says */
    size_t wrong;                     /* elements or bytes, of all ranks */
    char path[64];                    /* that the ranks' calls took, "-" if gpufifo did not see them; of NCCL, its version */
};

/* Ends the job with one sentence if there is no device, not enough memory, or the test cannot be run with these ranks. */
void bench_create(struct bench *bench, const struct bench_options *options);
void bench_destroy(struct bench *bench);

/* Collective. figures: METHOD_COUNT of them if options->staged, else one. */
void bench_measure(struct bench *bench, size_t bytes, struct figures *figures);

/* For the tests. A result other than 0 of a gpufifo function ends the job with one sentence. */
void bench_must(const struct bench *bench, int result, const char *what);
void bench_give_up(const struct bench *bench, const char *what, const char *why) __attribute__((noreturn));
void *bench_host_alloc(const struct bench *bench, size_t bytes);

static inline bool bench_is_nccl(const struct bench *bench, enum method method)
{
    return method == METHOD_DIRECT && bench->nccl;
}

#endif
