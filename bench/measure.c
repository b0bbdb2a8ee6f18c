/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of things: check, warm up, measure the methods in turn, check again.
 */
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl.h"
#include "bench/samples.h"
#include "bench/test.h"

const char *method_name(enum method method)
{
    return method == METHOD_STAGED ? "staged" : "direct";
}

void bench_give_up(const struct bench *bench, const char *what, const char *why)
{
    fprintf(stderr, "gpufifo-bench: rank %d: %s: %s\n", bench->rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

void bench_must(const struct bench *bench, int result, const char *what)
{
    if (result != 0) {
        bench_give_up(bench, what, gpufifo_error());
    }
}

void *bench_host_alloc(const struct bench *bench, size_t bytes)
{
    void *pointer = malloc(bytes);
    if (!pointer) {
        bench_give_up(bench, "host memory", "exhausted; take a smaller --max");
    }
    return pointer;
}

static void *device_alloc(struct bench *bench, enum gpufifo_memory kind, size_t bytes)
{
    void *pointer;
    bench_must(bench, gpufifo_alloc(bench->device, kind, bytes, &pointer), "memory");
    return pointer;
}

static const struct bench_test *test_of(enum bench_kind kind)
{
    static const struct bench_test *const tests[] = {
        [BENCH_ALLREDUCE] = &reduction_test, [BENCH_REDUCE] = &reduction_test, [BENCH_REDUCE_SCATTER] = &reduction_test,
        [BENCH_SCAN] = &reduction_test, [BENCH_LATENCY] = &latency_test, [BENCH_BANDWIDTH] = &bandwidth_test,
        [BENCH_BIBANDWIDTH] = &bibandwidth_test, [BENCH_MULTI] = &multi_test,
        [BENCH_ALLTOALL] = &exchange_test, [BENCH_ALLGATHER] = &exchange_test, [BENCH_BCAST] = &exchange_test,
        [BENCH_GATHER] = &exchange_test, [BENCH_SCATTER] = &exchange_test,
    };
    return tests[kind];
}

/* All ranks come to the same conclusion; one says it. */
static void must_fit(const struct bench *bench)
{
    const char *why = bench->test->unfit(bench);

    if (!why && bench->options->by_nccl) {
        why = nccl_unfit(bench->options);
    }
    if (!why) {
        return;
    }
    if (bench->rank == 0) {
        fprintf(stderr, "gpufifo-bench: %s\n", why);
    }
    MPI_Finalize();
    exit(2);
}

static bool is_on_device(enum gpufifo_memory kind)
{
    return kind != GPUFIFO_MEMORY_HOST && kind != GPUFIFO_MEMORY_PINNED && kind != GPUFIFO_MEMORY_MANAGED;
}

/* An MPI that was built for CUDA may do without gpufifo, and is measured so; none knows the emulated device. */
static void must_reach(const struct bench *bench, enum gpufifo_memory send, enum gpufifo_memory recv)
{
    bool absent = !paths_present(&bench->counters) && (is_on_device(send) || is_on_device(recv));

    if (absent && strcmp(gpufifo_device_name(bench->device), "emulated") == 0) {
        bench_give_up(bench, "MPI cannot reach the emulated device", "the component coll/gpufifo is not in use; "
                "--mca coll_gpufifo_device emulated --mca coll_gpufifo_verbose 1 says why");
    }
    if (absent && bench->rank == 0) {
        fprintf(stderr, "gpufifo-bench: the component coll/gpufifo is not in use: what follows crashes if this MPI knows no "
                        "device memory itself\n");
    }
}

/* This rank's number among those of its node. */
static int rank_of_node(void)
{
    MPI_Comm node;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

void bench_create(struct bench *bench, const struct bench_options *options)
{
    enum gpufifo_memory send, recv;
    size_t bytes;

    *bench = (struct bench){ .options = options, .test = test_of(options->kind) };
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->ranks);
    must_fit(bench);
    bench_must(bench, gpufifo_device_open(options->device, options->by_rank ? rank_of_node() : -1, &bench->device), "no device");
    bench->test->memory(bench, &send, &recv, &bytes);
    paths_open(&bench->counters);
    if (!options->by_nccl) {
        must_reach(bench, send, recv);
    }
    bench->send = device_alloc(bench, send, bytes);
    bench->recv = device_alloc(bench, recv, bytes);
    if (options->staged) {
        bench->host_send = device_alloc(bench, GPUFIFO_MEMORY_PINNED, bytes);
        bench->host_recv = device_alloc(bench, GPUFIFO_MEMORY_PINNED, bytes);
    }
    bench->samples = bench_host_alloc(bench, METHOD_COUNT * (size_t)options->iterations * sizeof *bench->samples);
    bench->means = bench_host_alloc(bench, (size_t)options->iterations * sizeof *bench->means);
    if (options->by_nccl) {
        bench->nccl = nccl_open(bench);
    }
}

void bench_destroy(struct bench *bench)
{
    void *all[] = { bench->send, bench->recv, bench->host_send, bench->host_recv };

    if (bench->nccl) {
        nccl_close(bench->nccl);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]) {
            bench_must(bench, gpufifo_free(bench->device, all[i]), "free");
        }
    }
    free(bench->samples);
    free(bench->means);
    paths_close(&bench->counters);
    gpufifo_device_close(bench->device);
}

static int samples_wanted(const struct bench_options *options, size_t bytes)
{
    int part = bytes > 32u << 20 ? 20 : bytes > 1u << 20 ? 5 : 1, count = options->iterations / part;
    return count < 5 ? 5 : count;
}

static void summarise(struct bench *bench, const double *samples, int count, struct figures *figures)
{
    MPI_Reduce(samples, bench->means, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (bench->rank != 0) {
        return;
    }
    for (int i = 0; i < count; i++) {
        bench->means[i] /= bench->test->timers(bench);
    }
    samples_sort(bench->means, (size_t)count);
    figures->median_us = samples_at(bench->means, (size_t)count, 0.5);
    figures->p5_us = samples_at(bench->means, (size_t)count, 0.05);
    figures->p95_us = samples_at(bench->means, (size_t)count, 0.95);
    bench->test->rates(bench, figures);
}

/* Names the paths that any rank took since `before`: the two ends of a message may take different ones. */
static void name_path(const struct bench *bench, const struct paths *before, char *text, size_t bytes)
{
    struct paths after;
    unsigned long taken = 0;
    size_t used = 0;

    paths_read(&bench->counters, &after);
    for (int i = 0; i < after.count; i++) {
        taken |= (unsigned long)(after.path[i].calls > before->path[i].calls) << i;
    }
    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_UNSIGNED_LONG, MPI_BOR, MPI_COMM_WORLD);
    snprintf(text, bytes, "-");
    for (int i = 0; i < after.count && used < bytes; i++) {
        if (taken >> i & 1) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? "+" : "", after.path[i].name);
        }
    }
}

/* One sample of each method with its result checked; the first one also sets up what later ones use. */
static void check(struct bench *bench, int methods, struct figures *figures)
{
    for (int method = 0; method < methods; method++) {
        size_t bytes = figures[method].bytes, count = figures[method].count;
        struct paths before;
        unsigned long long mine, all = 0;

        bench->test->fill(bench, bytes, count);
        paths_read(&bench->counters, &before);
        bench->test->sample(bench, method, bytes, count);
        if (bench_is_nccl(bench, method)) {
            snprintf(figures[method].path, sizeof figures[method].path, "%s", nccl_name(bench->nccl));
        } else {
            name_path(bench, &before, figures[method].path, sizeof figures[method].path);
        }
        mine = bench->test->count_wrong(bench, bytes, count);
        MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        figures[method].wrong += all;
    }
}

void bench_measure(struct bench *bench, size_t bytes, struct figures *figures)
{
    const struct bench_options *o = bench->options;
    int methods = o->staged ? METHOD_COUNT : 1, samples = samples_wanted(o, bytes);
    size_t count = bench->test->count(bench, &bytes);

    for (int method = 0; method < methods; method++) {
        figures[method] = (struct figures){ .bytes = bytes, .count = count, .method = method };
    }
    if (count == 0) {
        return;
    }
    check(bench, methods, figures);
    for (int i = -o->warmup; i < samples; i++) {
        for (int method = 0; method < methods; method++) {
            double sample = bench->test->sample(bench, method, bytes, count);
            if (i >= 0) {
                bench->samples[method * o->iterations + i] = sample;
            }
        }
    }
    for (int method = 0; method < methods; method++) {
        summarise(bench, bench->samples + (size_t)method * (size_t)o->iterations, samples, &figures[method]);
    }
    check(bench, methods, figures);
}
