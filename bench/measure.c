/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measuring and checking.
 */
#include "bench/measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"

/* Values repeat after PERIOD elements, so one block of whole periods serves for a buffer of any size. */
enum { PERIOD = 5, BLOCK_ELEMENTS = PERIOD << 18 };

const char *method_name(enum method method)
{
    return method == METHOD_STAGED ? "staged" : "direct";
}

static void __attribute__((noreturn)) give_up(const struct bench *bench, const char *what, const char *why)
{
    fprintf(stderr, "gpufifo-bench: rank %d: %s: %s\n", bench->rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void must(const struct bench *bench, int result, const char *what)
{
    if (result != 0) {
        give_up(bench, what, gpufifo_error());
    }
}

static void *device_alloc(struct bench *bench, enum gpufifo_memory kind, size_t bytes)
{
    void *pointer;
    must(bench, gpufifo_alloc(bench->device, kind, bytes, &pointer), "memory");
    return pointer;
}

static void *host_alloc(const struct bench *bench, size_t bytes)
{
    void *pointer = malloc(bytes);
    if (!pointer) {
        give_up(bench, "host memory", "exhausted; take a smaller --max");
    }
    return pointer;
}

void bench_create(struct bench *bench, const struct bench_options *options)
{
    *bench = (struct bench){ .options = options };
    MPI_Comm_rank(MPI_COMM_WORLD, &bench->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench->ranks);
    must(bench, gpufifo_device_open(options->device, -1, &bench->device), "no device");
    bench->send = device_alloc(bench, options->send, options->max);
    bench->recv = device_alloc(bench, options->recv, options->max);
    if (options->staged) {
        bench->host_send = device_alloc(bench, GPUFIFO_MEMORY_PINNED, options->max);
        bench->host_recv = device_alloc(bench, GPUFIFO_MEMORY_PINNED, options->max);
    }
    paths_open(&bench->counters);
    bench->samples = host_alloc(bench, METHOD_COUNT * (size_t)options->iterations * sizeof *bench->samples);
    bench->means = host_alloc(bench, (size_t)options->iterations * sizeof *bench->means);
}

void bench_destroy(struct bench *bench)
{
    void *all[] = { bench->send, bench->recv, bench->host_send, bench->host_recv };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]) {
            must(bench, gpufifo_free(bench->device, all[i]), "free");
        }
    }
    free(bench->samples);
    free(bench->means);
    paths_close(&bench->counters);
    gpufifo_device_close(bench->device);
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

    for (int rank = 1; rank < bench->ranks; rank++) {
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

static char *block_create(const struct bench *bench, int (*value)(const struct bench *bench, size_t i))
{
    char *block = host_alloc(bench, BLOCK_ELEMENTS * bench->options->type->bytes);

    for (size_t i = 0; i < BLOCK_ELEMENTS; i++) {
        element_put(bench->options->type->element, block, i, value(bench, i % PERIOD));
    }
    return block;
}

static void fill(const struct bench *bench, size_t bytes)
{
    size_t block_bytes = BLOCK_ELEMENTS * bench->options->type->bytes;
    char *block = block_create(bench, own_value);

    for (size_t start = 0; start < bytes; start += block_bytes) {
        size_t part = bytes - start < block_bytes ? bytes - start : block_bytes;
        must(bench, gpufifo_copy(bench->device, (char *)bench->send + start, block, part), "copy");
    }
    must(bench, gpufifo_fill(bench->device, bench->recv, 0x55, bytes), "fill");
    free(block);
}

static size_t count_wrong(const struct bench *bench, size_t bytes)
{
    size_t width = bench->options->type->bytes, block_bytes = BLOCK_ELEMENTS * width, wrong = 0;
    char *block = block_create(bench, expected_value), *got = host_alloc(bench, block_bytes);

    for (size_t start = 0; start < bytes; start += block_bytes) {
        size_t part = bytes - start < block_bytes ? bytes - start : block_bytes;
        must(bench, gpufifo_copy(bench->device, got, (char *)bench->recv + start, part), "copy");
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

static void call(const struct bench *bench, enum method method, size_t count)
{
    const struct bench_options *o = bench->options;
    size_t bytes = count * o->type->bytes;

    if (method == METHOD_DIRECT) {
        MPI_Allreduce(bench->send, bench->recv, (int)count, o->type->type, o->op->op, MPI_COMM_WORLD);
        return;
    }
    must(bench, gpufifo_copy(bench->device, bench->host_send, bench->send, bytes), "copy");
    MPI_Allreduce(bench->host_send, bench->host_recv, (int)count, o->type->type, o->op->op, MPI_COMM_WORLD);
    must(bench, gpufifo_copy(bench->device, bench->recv, bench->host_recv, bytes), "copy");
}

static double time_call(const struct bench *bench, enum method method, size_t count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    call(bench, method, count);
    return (MPI_Wtime() - start) * 1e6;
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
        bench->means[i] /= bench->ranks;
    }
    samples_sort(bench->means, (size_t)count);
    figures->median_us = samples_at(bench->means, (size_t)count, 0.5);
    figures->p5_us = samples_at(bench->means, (size_t)count, 0.05);
    figures->p95_us = samples_at(bench->means, (size_t)count, 0.95);
    figures->algbw = (double)figures->bytes / figures->median_us / 1e3;
    figures->busbw = figures->algbw * 2 * (bench->ranks - 1) / bench->ranks;
}

static void name_path(const struct bench *bench, const struct paths *before, char *text, size_t bytes)
{
    struct paths after, taken;
    size_t used = 0;

    paths_read(&bench->counters, &after);
    paths_difference(before, &after, &taken);
    snprintf(text, bytes, "-");
    for (int i = 0; i < taken.count && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? "+" : "", taken.path[i].name);
    }
}

/* One call of each method with its result checked; the first one also sets up what later ones use. */
static void check(struct bench *bench, size_t bytes, int methods, struct figures *figures)
{
    for (int method = 0; method < methods; method++) {
        struct paths before;
        unsigned long long mine, all = 0;

        fill(bench, bytes);
        paths_read(&bench->counters, &before);
        call(bench, method, figures[method].count);
        name_path(bench, &before, figures[method].path, sizeof figures[method].path);
        mine = count_wrong(bench, bytes);
        MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        figures[method].wrong += all;
    }
}

void bench_measure(struct bench *bench, size_t bytes, struct figures *figures)
{
    const struct bench_options *o = bench->options;
    int methods = o->staged ? METHOD_COUNT : 1, count = samples_wanted(o, bytes);

    for (int method = 0; method < methods; method++) {
        figures[method] = (struct figures){ .bytes = bytes, .count = bytes / o->type->bytes, .method = method };
    }
    check(bench, bytes, methods, figures);
    for (int i = -o->warmup; i < count; i++) {
        for (int method = 0; method < methods; method++) {
            double sample = time_call(bench, method, figures[method].count);
            if (i >= 0) {
                bench->samples[method * o->iterations + i] = sample;
            }
        }
    }
    for (int method = 0; method < methods; method++) {
        summarise(bench, bench->samples + (size_t)method * (size_t)o->iterations, count, &figures[method]);
    }
    check(bench, bytes, methods, figures);
}
