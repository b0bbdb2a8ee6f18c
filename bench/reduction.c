/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter_block and MPI_Scan: a message is what each rank contributes. All ranks meet in a
 * host barrier, which is not timed, then each takes the time of one call.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl.h"
#include "bench/test.h"

/* Values repeat after PERIOD elements, so one block of whole periods serves for a buffer of any size. */
enum { PERIOD = 5, BLOCK_ELEMENTS = PERIOD << 18 };

static bool is(const struct bench *bench, enum bench_kind kind)
{
    return bench->options->kind == kind;
}

static void title(const struct bench *bench, char *text, size_t bytes)
{
    const char *name = is(bench, BENCH_REDUCE) ? "Reduce" : is(bench, BENCH_REDUCE_SCATTER) ? "Reduce_scatter_block"
        : is(bench, BENCH_SCAN) ? "Scan" : "Allreduce";

    snprintf(text, bytes, "MPI_%s, %s of %s", name, bench->options->op->name, bench->options->type->name);
}

/* A contribution has elements of all ranks' results, or of one result. */
static size_t parts(const struct bench *bench)
{
    return is(bench, BENCH_REDUCE_SCATTER) ? (size_t)bench->ranks : 1;
}

static const char *unfit(const struct bench *bench)
{
    return bench->options->max < parts(bench) * bench->options->type->bytes ? "--max is smaller than one element of each result"
                                                                            : NULL;
}

static void memory(const struct bench *bench, enum gpufifo_memory *send, enum gpufifo_memory *recv, size_t *bytes)
{
    *send = bench->options->send;
    *recv = bench->options->recv;
    *bytes = bench->options->max;
}

static size_t count_elements(const struct bench *bench, size_t *bytes)
{
    size_t count = *bytes / bench->options->type->bytes / parts(bench) * parts(bench);

    *bytes = count * bench->options->type->bytes;
    return count;
}

/* Elements that this rank gets. */
static size_t count_results(const struct bench *bench, size_t count)
{
    return is(bench, BENCH_REDUCE) && bench->rank != BENCH_ROOT ? 0 : count / parts(bench);
}

/* Element i of a rank's buffer; small whole numbers, so that every order of the reduction gives the same result. */
static int contribution(const struct bench *bench, int rank, size_t i)
{
    if (bench->options->op->op == MPI_PROD) {
        return i % PERIOD == (size_t)rank % PERIOD ? -1 : 1;
    }
    return (int)((i * 7 + (size_t)rank * 3) % PERIOD) - 2;
}

static int combine(MPI_Op op, int a, int b)
{
    return op == MPI_SUM ? a + b : op == MPI_PROD ? a * b : (op == MPI_MAX) == (a > b) ? a : b;
}

static int own_value(const struct bench *bench, size_t i)
{
    return contribution(bench, bench->rank, i);
}

static int expected_value(const struct bench *bench, size_t i)
{
    int result = contribution(bench, 0, i);

    for (int rank = 1; rank < (is(bench, BENCH_SCAN) ? bench->rank + 1 : bench->ranks); rank++) {
        result = combine(bench->options->op->op, result, contribution(bench, rank, i));
    }
    return result;
}

static void element_put(enum element element, void *to, size_t i, int value)
{
    switch (element) {
    case ELEMENT_FLOAT: ((float *)to)[i] = (float)value; break;
    case ELEMENT_DOUBLE: ((double *)to)[i] = value; break;
    case ELEMENT_INT8: ((int8_t *)to)[i] = (int8_t)value; break;
    case ELEMENT_INT32: ((int32_t *)to)[i] = value; break;
    case ELEMENT_INT64: ((int64_t *)to)[i] = value; break;
    }
}

/* From element `first` of a contribution on. */
static char *block_create(const struct bench *bench, size_t first, int (*value)(const struct bench *bench, size_t i))
{
    char *block = bench_host_alloc(bench, BLOCK_ELEMENTS * bench->options->type->bytes);

    for (size_t i = 0; i < BLOCK_ELEMENTS; i++) {
        element_put(bench->options->type->element, block, i, value(bench, (first + i) % PERIOD));
    }
    return block;
}

static void fill(const struct bench *bench, size_t bytes, size_t count)
{
    size_t block_bytes = BLOCK_ELEMENTS * bench->options->type->bytes;
    char *block = block_create(bench, 0, own_value);

    (void)count;
    for (size_t start = 0; start < bytes; start += block_bytes) {
        size_t part = bytes - start < block_bytes ? bytes - start : block_bytes;
        bench_must(bench, gpufifo_copy(bench->device, (char *)bench->send + start, block, part), "copy");
    }
    bench_must(bench, gpufifo_fill(bench->device, bench->recv, 0x55, bytes), "fill");
    free(block);
}

static size_t count_wrong(const struct bench *bench, size_t bytes, size_t count)
{
    size_t width = bench->options->type->bytes, block_bytes = BLOCK_ELEMENTS * width, wrong = 0;
    size_t results = count_results(bench, count);
    char *block = block_create(bench, parts(bench) > 1 ? results * (size_t)bench->rank : 0, expected_value);
    char *got = bench_host_alloc(bench, block_bytes);

    bytes = results * width;
    for (size_t start = 0; start < bytes; start += block_bytes) {
        size_t part = bytes - start < block_bytes ? bytes - start : block_bytes;
        bench_must(bench, gpufifo_copy(bench->device, got, (char *)bench->recv + start, part), "copy");
        if (memcmp(got, block, part) != 0) {
            for (size_t i = 0; i < part; i += width) {
                wrong += memcmp(got + i, block + i, width) != 0;
            }
        }
    }
    free(block);
    free(got);
    return wrong;
}

static void call_mpi(const struct bench *bench, const void *send, void *recv, int count)
{
    MPI_Datatype type = bench->options->type->type;
    MPI_Op op = bench->options->op->op;

    if (is(bench, BENCH_REDUCE)) {
        MPI_Reduce(send, recv, count, type, op, BENCH_ROOT, MPI_COMM_WORLD);
    } else if (is(bench, BENCH_REDUCE_SCATTER)) {
        MPI_Reduce_scatter_block(send, recv, count / bench->ranks, type, op, MPI_COMM_WORLD);
    } else if (is(bench, BENCH_SCAN)) {
        MPI_Scan(send, recv, count, type, op, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(send, recv, count, type, op, MPI_COMM_WORLD);
    }
}

static void call(const struct bench *bench, enum method method, size_t bytes, size_t count)
{
    size_t results = count_results(bench, count) * bench->options->type->bytes;

    if (bench_is_nccl(bench, method)) {
        nccl_reduction(bench->nccl, bench->send, bench->recv, count);
        return;
    }
    if (method == METHOD_DIRECT) {
        call_mpi(bench, bench->send, bench->recv, (int)count);
        return;
    }
    bench_must(bench, gpufifo_copy(bench->device, bench->host_send, bench->send, bytes), "copy");
    call_mpi(bench, bench->host_send, bench->host_recv, (int)count);
    if (results > 0) {
        bench_must(bench, gpufifo_copy(bench->device, bench->recv, bench->host_recv, results), "copy");
    }
}

static double sample(const struct bench *bench, enum method method, size_t bytes, size_t count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    call(bench, method, bytes, count);
    return (MPI_Wtime() - start) * 1e6;
}

static int timers(const struct bench *bench)
{
    return bench->ranks;
}

/* GB/s (10^9): bytes / time, and that times 2 (ranks - 1) / ranks of an allreduce, half of it of a reduce-scatter, once of the
 * others. */
static void rates(const struct bench *bench, struct figures *figures)
{
    figures->rate[0] = (double)figures->bytes / figures->median_us / 1e3;
    figures->rate[1] = figures->rate[0];
    if (is(bench, BENCH_ALLREDUCE) || is(bench, BENCH_REDUCE_SCATTER)) {
        figures->rate[1] *= (is(bench, BENCH_ALLREDUCE) ? 2.0 : 1.0) * (bench->ranks - 1) / bench->ranks;
    }
}

const struct bench_test reduction_test = {
    .count_column = { "count", "count" },
    .rate_column = { { "algbw", "algbw(GB/s)" }, { "busbw", "busbw(GB/s)" } },
    .title = title,
    .unfit = unfit,
    .memory = memory,
    .count = count_elements,
    .fill = fill,
    .count_wrong = count_wrong,
    .sample = sample,
    .timers = timers,
    .rates = rates,
};
