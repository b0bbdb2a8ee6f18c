/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What gpufifo-bench is asked to do.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "gpufifo/device.h"

enum element { ELEMENT_FLOAT, ELEMENT_DOUBLE, ELEMENT_INT8, ELEMENT_INT32, ELEMENT_INT64 };

struct bench_type {
    const char *name;
    MPI_Datatype type;
    size_t bytes;
    enum element element;
};

struct bench_op {
    const char *name;
    MPI_Op op;
};

/* What is measured. */
enum bench_kind { BENCH_ALLREDUCE, BENCH_LATENCY, BENCH_BANDWIDTH, BENCH_BIBANDWIDTH, BENCH_MULTI,
                  BENCH_ALLTOALL, BENCH_ALLGATHER, BENCH_BCAST, BENCH_GATHER, BENCH_SCATTER, BENCH_REDUCE,
                  BENCH_REDUCE_SCATTER, BENCH_SCAN };

enum { COMPARE_MOST = 4 };

/* Read once at the start, constant afterwards; strings belong to argv. */
struct bench_options {
    enum bench_kind kind;
    size_t min, max;                          /* bytes */
    size_t factor;                            /* from one size to the next */
    int iterations;                           /* samples of a size; a fifth above 1 MiB, a twentieth above 32 MiB, at least 5 */
    int warmup;                               /* calls before them */
    int window;                               /* messages in flight of the bandwidths */
    const struct bench_type *type;            /* of reductions, as op */
    const struct bench_op *op;
    enum gpufifo_memory send, recv;           /* of a collective's buffers; else of the first and of the second rank of a pair */
    const char *device;                       /* null: as the environment says */
    bool by_rank;                             /* that device of the rank's number on its node, not the first one */
    bool by_nccl;                             /* NCCL does what is direct, not MPI */
    bool staged;                              /* measure beside it: copies, and MPI on host memory */
    const char *json;                         /* file, or null */
    int compare_count;                        /* sides of a comparison, 0: measure here */
    const char *compare[COMPARE_MOST];
    const char *plot;                         /* file to draw all mechanisms into, or null */
    const char *tune;                         /* file to write a tuning table into, or null */
    const char *mechanisms;                   /* of a plot: a list of names, or null: all */
    int ranks;                                /* of the allreduce of a plot or a tuning table */
    int rounds;                               /* of a comparison, plot or tuning table */
};

/* Ends the program on --help (0) and on a wrong option (1, with one sentence). */
void options_read(struct bench_options *options, int argc, char **argv);

/* As the command line has them. */
const char *test_name(enum bench_kind kind);
const char *memory_name(enum gpufifo_memory kind);

#endif
