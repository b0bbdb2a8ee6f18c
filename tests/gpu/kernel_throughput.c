/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main kernels on large data, for a profiler that is told when to look (cuProfilerStart, cuProfilerStop):
 * tests/gpu/sections/ncu.sh. The kernels of two ranks that wait for one another must be let run at once.
 *
 * Usage: kernel_throughput cuda|emulated MIB TIMES KERNEL...     KERNEL: ring, two_shot (these wait), reduce, pull, pack
 *                                                                TIMES: so often while the profiler looks
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/kernel_ranks.h"
#include "tests/gpu/times.h"

enum { RANKS = 2, MOST_CHANNELS = 64, PACKED_WORD = 8, WARM = 2 };

static void run_reduce(struct kr *t)
{
    kr_local_at(t, 0, GF_FLOAT, GF_SUM, t->device->caps.blocks);
}

static void run_ring(struct kr *t)
{
    kr_ring(t, GF_FLOAT, GF_SUM);
}

static void run_two_shot(struct kr *t)
{
    kr_two_shot(t, GF_FLOAT, GF_SUM);
}

/* Two blocks a multiprocessor, as the pull engine has them. */
static void run_pull(struct kr *t)
{
    int blocks = t->device->caps.blocks * (t->device->caps.host_types ? 1 : 2);

    kr_pull(t, kr_address(t, t->rank[0].recv), kr_address(t, t->rank[1].send), t->shape.bytes, blocks);
}

static void run_pack(struct kr *t)
{
    kr_pack(t, kr_address(t, t->rank[0].recv), kr_address(t, t->rank[0].send), t->shape.bytes / PACKED_WORD / 2,
            t->device->caps.blocks);
}

static const struct kernel {
    const char *name;
    void (*run)(struct kr *t);
} kernels[] = { { "ring", run_ring }, { "two_shot", run_two_shot }, { "reduce", run_reduce }, { "pull", run_pull },
                { "pack", run_pack } };

/* A function of the driver; null where there is none. */
static void *driver_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    return driver ? dlsym(driver, name) : NULL;
}

/* The library leaves no context current, and without one nothing is profiled. */
static void enter_context(void)
{
    int (*retain)(void **, int) = (int (*)(void **, int))driver_function("cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))driver_function("cuCtxSetCurrent");
    void *context;

    if (retain && set && retain(&context, 0) == 0) {
        set(context);
    }
}

static void tell_profiler(const char *function)
{
    int (*call)(void) = (int (*)(void))driver_function(function);

    if (call) {
        call();
    }
}

/* Queued behind one another. */
static void run_often(struct kr *t, const struct kernel *kernel, int times)
{
    for (int i = 0; i < times; i++) {
        kernel->run(t);
        t->ticket++;
    }
    for (int r = 0; r < RANKS; r++) {
        kr_need(t, gf_device_stream_sync(t->device, t->rank[r].stream), kernel->name, NULL);
        kr_check(t, (uint32_t)t->rank[r].done[KR_ERROR] == GF_KERNEL_OK, kernel->name, "end", r);
    }
}

static void measure(struct kr *t, const struct kernel *kernel, int times)
{
    run_often(t, kernel, WARM);
    tell_profiler("cuProfilerStart");
    double since = times_now();

    run_often(t, kernel, times);
    double spent = times_now() - since;

    tell_profiler("cuProfilerStop");
    printf("ran %s, %.1f us each of %d\n", kernel->name, spent / times, times);
    fflush(stdout);
}

static const struct kernel *kernel_find(const char *name)
{
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        if (strcmp(kernels[k].name, name) == 0) {
            return &kernels[k];
        }
    }
    fprintf(stderr, "kernel_throughput: there is no kernel \"%s\", only ring, two_shot, reduce, pull and pack\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    struct kr_shape shape = { .ranks = RANKS, .channels = MOST_CHANNELS, .threads = GF_BLOCK_THREADS, .line_slot = 1024,
                              .fifo_slot = 1 << 17 };
    int times = argc > 4 ? atoi(argv[3]) : 0;
    struct kr t;

    if (times < 1 || (shape.bytes = strtoull(argv[2], NULL, 10) << 20) == 0) {
        fprintf(stderr, "usage: kernel_throughput cuda|emulated MIB TIMES KERNEL...\n");
        return 2;
    }
    for (int i = 4; i < argc; i++) {
        kernel_find(argv[i]);
    }
    kr_create(&t, "kernel_throughput", argv[1], &shape);
    enter_context();
    t.count = shape.bytes / sizeof(float);
    for (int i = 4; i < argc; i++) {
        measure(&t, kernel_find(argv[i]), times);
    }
    return t.failures == 0 ? 0 : 1;
}
