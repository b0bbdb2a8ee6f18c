/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alltoall, MPI_Allgather, MPI_Bcast, MPI_Gather and MPI_Scatter: a message is a block, what one rank has for another. All
 * ranks meet in a host barrier, which is not timed, then each takes the time of one call.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl.h"
#include "bench/test.h"

enum { PART = 1 << 20 };     /* contents repeat after so many bytes */

static bool is(const struct bench *bench, enum bench_kind kind)
{
    return bench->options->kind == kind;
}

static void title(const struct bench *bench, char *text, size_t bytes)
{
    snprintf(text, bytes, "MPI_%s, bytes of a block", is(bench, BENCH_ALLTOALL) ? "Alltoall"
             : is(bench, BENCH_ALLGATHER) ? "Allgather" : is(bench, BENCH_GATHER) ? "Gather"
             : is(bench, BENCH_SCATTER) ? "Scatter" : "Bcast");
}

static const char *unfit(const struct bench *bench)
{
    return bench->options->max > INT_MAX ? "--max is larger than one call can have" : NULL;
}

static bool is_root(const struct bench *bench)
{
    return bench->rank == BENCH_ROOT;
}

/* Has each rank other blocks for each? */
static bool is_by_target(const struct bench *bench)
{
    return is(bench, BENCH_ALLTOALL) || is(bench, BENCH_SCATTER);
}

static bool is_from_root(const struct bench *bench)
{
    return is(bench, BENCH_BCAST) || is(bench, BENCH_SCATTER);
}

/* Blocks in the buffers. The root of a broadcast has its data in the send buffer. */
static int blocks_sent(const struct bench *bench)
{
    return is_from_root(bench) && !is_root(bench) ? 0 : is_by_target(bench) ? bench->ranks : 1;
}

static int blocks_received(const struct bench *bench)
{
    switch (bench->options->kind) {
    case BENCH_BCAST: return !is_root(bench);
    case BENCH_SCATTER: return 1;
    case BENCH_GATHER: return is_root(bench) ? bench->ranks : 0;
    default: return bench->ranks;
    }
}

static void memory(const struct bench *bench, enum gpufifo_memory *send, enum gpufifo_memory *recv, size_t *bytes)
{
    *send = bench->options->send;
    *recv = bench->options->recv;
    *bytes = bench->options->max * (is(bench, BENCH_BCAST) ? 1 : (size_t)bench->ranks);
}

static size_t count_bytes(const struct bench *bench, size_t *bytes)
{
    (void)bench;
    return *bytes;
}

/* What `from` has for `to`. */
static void part_fill(const struct bench *bench, int from, int to, char *part)
{
    int seed = from * 31 + (is_by_target(bench) ? to * 17 : 0);

    for (size_t i = 0; i < PART; i++) {
        part[i] = (char)((size_t)seed + i * 7 + i / 256);
    }
}

static void fill(const struct bench *bench, size_t bytes, size_t count)
{
    char *part = bench_host_alloc(bench, PART);

    (void)count;
    for (int to = 0; to < blocks_sent(bench); to++) {
        part_fill(bench, bench->rank, to, part);
        for (size_t start = 0; start < bytes; start += PART) {
            size_t length = bytes - start < PART ? bytes - start : PART;
            bench_must(bench, gpufifo_copy(bench->device, (char *)bench->send + (size_t)to * bytes + start, part, length),
                       "copy");
        }
    }
    if (blocks_received(bench) > 0) {
        bench_must(bench, gpufifo_fill(bench->device, bench->recv, 0x55, bytes * (size_t)blocks_received(bench)), "fill");
    }
    free(part);
}

static size_t count_wrong(const struct bench *bench, size_t bytes, size_t count)
{
    char *part = bench_host_alloc(bench, PART), *got = bench_host_alloc(bench, PART);
    size_t wrong = 0;

    (void)count;
    for (int i = 0; i < blocks_received(bench); i++) {
        part_fill(bench, is_from_root(bench) ? BENCH_ROOT : i, bench->rank, part);
        for (size_t start = 0; start < bytes; start += PART) {
            size_t length = bytes - start < PART ? bytes - start : PART;
            bench_must(bench, gpufifo_copy(bench->device, got, (char *)bench->recv + (size_t)i * bytes + start, length), "copy");
            bool right = memcmp(got, part, length) == 0;

            for (size_t at = 0; at < length && !right; at++) {
                wrong += got[at] != part[at];
            }
        }
    }
    free(part);
    free(got);
    return wrong;
}

static void call_mpi(const struct bench *bench, void *send, void *recv, int count)
{
    if (is(bench, BENCH_ALLTOALL)) {
        MPI_Alltoall(send, count, MPI_BYTE, recv, count, MPI_BYTE, MPI_COMM_WORLD);
    } else if (is(bench, BENCH_ALLGATHER)) {
        MPI_Allgather(send, count, MPI_BYTE, recv, count, MPI_BYTE, MPI_COMM_WORLD);
    } else if (is(bench, BENCH_GATHER)) {
        MPI_Gather(send, count, MPI_BYTE, recv, count, MPI_BYTE, BENCH_ROOT, MPI_COMM_WORLD);
    } else if (is(bench, BENCH_SCATTER)) {
        MPI_Scatter(send, count, MPI_BYTE, recv, count, MPI_BYTE, BENCH_ROOT, MPI_COMM_WORLD);
    } else {
        MPI_Bcast(is_root(bench) ? send : recv, count, MPI_BYTE, BENCH_ROOT, MPI_COMM_WORLD);
    }
}

static void call(const struct bench *bench, enum method method, size_t bytes)
{
    size_t sent = bytes * (size_t)blocks_sent(bench), received = bytes * (size_t)blocks_received(bench);

    if (bench_is_nccl(bench, method)) {
        nccl_exchange(bench->nccl, bench->send, bench->recv, bytes);
        return;
    }
    if (method == METHOD_DIRECT) {
        call_mpi(bench, bench->send, bench->recv, (int)bytes);
        return;
    }
    if (sent > 0) {
        bench_must(bench, gpufifo_copy(bench->device, bench->host_send, bench->send, sent), "copy");
    }
    call_mpi(bench, bench->host_send, bench->host_recv, (int)bytes);
    if (received > 0) {
        bench_must(bench, gpufifo_copy(bench->device, bench->recv, bench->host_recv, received), "copy");
    }
}

static double sample(const struct bench *bench, enum method method, size_t bytes, size_t count)
{
    (void)count;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    call(bench, method, bytes);
    return (MPI_Wtime() - start) * 1e6;
}

static int timers(const struct bench *bench)
{
    return bench->ranks;
}

/* GB/s (10^9): of a block, and of all that a rank gets from others; of scatter: that the root sends to others. */
static void rates(const struct bench *bench, struct figures *figures)
{
    figures->rate[0] = (double)figures->bytes / figures->median_us / 1e3;
    figures->rate[1] = figures->rate[0] * (is(bench, BENCH_BCAST) ? 1 : bench->ranks - 1);
}

const struct bench_test exchange_test = {
    .count_column = { "count", "bytes" },
    .rate_column = { { "algbw", "algbw(GB/s)" }, { "busbw", "busbw(GB/s)" } },
    .title = title,
    .unfit = unfit,
    .memory = memory,
    .count = count_bytes,
    .fill = fill,
    .count_wrong = count_wrong,
    .sample = sample,
    .timers = timers,
    .rates = rates,
};
