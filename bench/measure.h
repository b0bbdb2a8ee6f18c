/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures MPI_Allreduce of one size, by one method or by two in turn, and checks the results.
 *
 * A sample: all ranks meet in a host barrier, then each takes the time of one call; the sample is the mean over the ranks. From
 * the samples come the median and the percentiles. The barrier is not timed.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>

#include "bench/options.h"
#include "examples/paths.h"

enum method {
    METHOD_DIRECT,             /* MPI_Allreduce on the buffers as they are */
    METHOD_STAGED,             /* copy to pinned host memory, MPI_Allreduce there, copy back */
    METHOD_COUNT
};

const char *method_name(enum method method);

/* Owned by main; buffers of options->max bytes. */
struct bench {
    const struct bench_options *options;
    gpufifo_device *device;
    int rank, ranks;
    void *send, *recv;
    void *host_send, *host_recv;      /* pinned; null unless staged */
    struct paths_counters counters;
    double *samples;                  /* of this rank, by method */
    double *means;                    /* over the ranks, at rank 0 */
};

/* The figures of one size and method. The times are right at rank 0 only. */
struct figures {
    size_t bytes, count;
    enum method method;
    double median_us, p5_us, p95_us;
    double algbw, busbw;              /* GB/s (10^9): bytes / time, and that times 2 (ranks - 1) / ranks */
    size_t wrong;                     /* elements, of all ranks */
    char path[64];                    /* that rank 0's calls took, "-" if gpufifo did not see them */
};

/* Ends the job with one sentence if there is no device or not enough memory. */
void bench_create(struct bench *bench, const struct bench_options *options);
void bench_destroy(struct bench *bench);

/* Collective. figures: METHOD_COUNT of them if options->staged, else one. */
void bench_measure(struct bench *bench, size_t bytes, struct figures *figures);

#endif
