/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small allreduces, or messages, of programs with different habits, each of which may suit an agent or not: microseconds an
 * iteration, median and mean, on rank 0. The results are checked. Run it with one value of coll_gpufifo_agent after the other
 * (tests/gpu/agent.sh); on the emulated device it shows that all is right, and no times that mean anything.
 *
 * Usage: agent_habits [iterations=N] [bytes=N] [beside] [message] HABIT...
 *   message   from here on a call is no allreduce but a message to the next rank and one from the previous
 *   row       calls in a row
 *   sync      the device is synchronised after each call
 *   memory    device memory is allocated and freed after each call
 *   work      a fill of 16 MiB and a synchronisation after each call
 *   pause     100 microseconds of the host's time after each call
 *   filled    three calls while kernels fill the device for half a second each time: they must come back, and be right;
 *             after `beside` while those kernels run
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/types.h"
#include "device/device.h"
#include "tests/mpi/harness.h"

enum { WARM_UP_MOST = 200, WORK_BYTES = 16 << 20, FILLED_CALLS = 3, FILLED_MS = 500 };

struct bench {
    struct harness h;
    int iterations;
    size_t bytes;
    bool beside, message;
    char *send, *recv;             /* doubles */
    char *work;
};

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void after_row(struct bench *b) { (void)b; }

static void after_sync(struct bench *b)
{
    harness_need(&b->h, gpufifo_synchronize(b->h.device), "synchronize");
}

static void after_memory(struct bench *b)
{
    void *memory;

    harness_need(&b->h, gpufifo_alloc(b->h.device, GPUFIFO_MEMORY_DEVICE, 4096, &memory), "alloc");
    harness_need(&b->h, gpufifo_free(b->h.device, memory), "free");
}

static void after_work(struct bench *b)
{
    harness_need(&b->h, gpufifo_fill(b->h.device, b->work, 1, WORK_BYTES), "fill");
    after_sync(b);
}

static void after_pause(struct bench *b)
{
    (void)b;
    for (double began = now_us(); now_us() - began < 100; ) {
    }
}

/* Each rank sends its number + 1 in every element. */
static void prepare(struct bench *b)
{
    size_t count = b->bytes / sizeof(double);
    double *values = host_alloc(&b->h, b->bytes);

    for (size_t i = 0; i < count; i++) {
        values[i] = b->h.rank + 1;
    }
    harness_need(&b->h, gpufifo_copy(b->h.device, b->send, values, b->bytes), "copy");
    harness_need(&b->h, gpufifo_fill(b->h.device, b->recv, 0, b->bytes), "fill");
    free(values);
}

static void check(struct bench *b, const char *habit)
{
    size_t count = b->bytes / sizeof(double), wrong = 0;
    double *values = host_alloc(&b->h, b->bytes), expected = b->h.ranks * (b->h.ranks + 1) / 2.0;

    if (b->message) {
        expected = (b->h.rank + b->h.ranks - 1) % b->h.ranks + 1;
    }

    harness_need(&b->h, gpufifo_copy(b->h.device, values, b->recv, b->bytes), "copy");
    for (size_t i = 0; i < count; i++) {
        wrong += values[i] != expected;
    }
    harness_check(&b->h, wrong == 0, "%s: %zu of %zu elements are wrong", habit, wrong, count);
    free(values);
}

static void call(struct bench *b)
{
    int count = (int)(b->bytes / sizeof(double)), next = (b->h.rank + 1) % b->h.ranks;
    int previous = (b->h.rank + b->h.ranks - 1) % b->h.ranks;
    int result = b->message ? MPI_Sendrecv(b->send, count, MPI_DOUBLE, next, 1, b->recv, count, MPI_DOUBLE, previous, 1,
                                           MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                            : MPI_Allreduce(b->send, b->recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    harness_check(&b->h, result == MPI_SUCCESS, "error %d", result);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void measure(struct bench *b, const char *habit, void (*after)(struct bench *))
{
    double *times = host_alloc(&b->h, (size_t)b->iterations * sizeof *times), whole = 0;

    int warm_up = b->iterations < WARM_UP_MOST ? b->iterations : WARM_UP_MOST;

    prepare(b);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -warm_up; i < b->iterations; i++) {
        double began = now_us();

        call(b);
        after(b);
        if (i >= 0) {
            times[i] = now_us() - began;
            whole += times[i];
        }
    }
    check(b, habit);
    qsort(times, (size_t)b->iterations, sizeof *times, compare);
    if (b->h.rank == 0) {
        printf("habit %-8s %7zu B  median %9.2f us  mean %9.2f us\n", habit, b->bytes, times[b->iterations / 2],
               whole / b->iterations);
    }
    free(times);
}

/* A launched allreduce that no peer knows of waits until its deadline, with as many blocks as the device takes and more. */
struct filling {
    gf_device *device;
    gf_stream *stream;
    void *words, *memory;
};

static void fill_device(struct bench *b, struct filling *f)
{
    bool emulated = strcmp(gpufifo_device_name(b->h.device), "emulated") == 0;
    int blocks = f->device->caps.blocks * (emulated ? 1 : 32);
    size_t slot = (size_t)blocks * 64, bytes = 4 * slot + GF_LINE;

    harness_need(&b->h, gf_device_stream_create(f->device, &f->stream, NULL), "a stream");
    harness_need(&b->h, gf_device_pinned_alloc(f->device, GF_LINE, &f->words, NULL), "pinned memory");
    harness_need(&b->h, gf_device_alloc(f->device, bytes, &f->memory, NULL), "device memory");
    harness_need(&b->h, gf_device_fill(f->device, f->stream, f->memory, 0, bytes), "fill");
    char *slots = gf_device_kernel_address(f->device, f->memory), *words = gf_device_kernel_address(f->device, f->words);
    struct gf_one_shot_work work = {
        .task = { .rank = 0, .ranks = 2, .abort = (uint32_t *)(void *)words, .deadline_ns = FILLED_MS * 1000000ull,
                  .blocks_done = (uint32_t *)(void *)(slots + 4 * slot), .done = (uint64_t *)(void *)(words + 16),
                  .error = (uint32_t *)(void *)(words + 8), .ticket = 1 },
        .data = { .send = slots + 4 * slot + 64, .recv = slots + 4 * slot + 96, .count = 1, .type = GF_FLOAT, .op = GF_SUM },
        .slot_bytes = slot, .epoch = 1, .pieces = 1,
    };

    work.peers[1] = (struct gf_peer_slots){ slots, slots + 2 * slot };
    harness_need(&b->h, gf_device_launch(f->device, f->stream, GF_KERNEL_ALLREDUCE_ONE_SHOT, blocks, 32, &work, sizeof work,
                                         NULL), "launch");
    usleep(20000);
}

static void end_filling(struct bench *b, struct filling *f)
{
    harness_need(&b->h, gf_device_stream_sync(f->device, f->stream), "sync");
    gf_device_stream_destroy(f->device, f->stream);
    gf_device_free(f->device, f->memory);
    gf_device_pinned_free(f->device, f->words);
}

static void run_filled(struct bench *b)
{
    struct filling f = { 0 };
    gf_driver *driver;
    double longest = 0;

    harness_need(&b->h, gf_driver_open(gpufifo_device_name(b->h.device), &driver, NULL), "driver");
    harness_need(&b->h, gf_device_open(driver, 0, &f.device, NULL), "device");
    prepare(b);
    call(b);
    for (int i = 0; i < FILLED_CALLS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        fill_device(b, &f);
        double began = now_us();

        call(b);
        longest = now_us() - began > longest ? now_us() - began : longest;
        end_filling(b, &f);
        check(b, "filled");
    }
    if (b->h.rank == 0) {
        printf("habit filled: the longest of %d calls took %.0f ms, kernels filled the device for %d ms\n", FILLED_CALLS,
               longest / 1e3, FILLED_MS);
    }
    harness_check(&b->h, !b->beside || longest < FILLED_MS * 1e3, "filled: a call waited for the kernels that fill the device");
    gf_device_close(f.device);
}

static const struct {
    const char *name;
    void (*after)(struct bench *);
} habits[] = {
    { "row", after_row }, { "sync", after_sync }, { "memory", after_memory }, { "work", after_work }, { "pause", after_pause },
};

static void run_habit(struct bench *b, const char *name)
{
    bool known = strcmp(name, "filled") == 0;

    if (known) {
        run_filled(b);
    }
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        if (strcmp(name, habits[i].name) == 0) {
            measure(b, name, habits[i].after);
            known = true;
        }
    }
    harness_check(&b->h, known, "there is no habit %s: row, sync, memory, work, pause, filled", name);
}

int main(int argc, char **argv)
{
    struct bench b = { .iterations = 2000, .bytes = 8 };
    void *memory;

    harness_start(&b.h, argc, argv, MPI_THREAD_SINGLE);
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "iterations=%d", &b.iterations) == 1 || sscanf(argv[i], "bytes=%zu", &b.bytes) == 1) {
            continue;
        }
        if (strcmp(argv[i], "beside") == 0) {
            b.beside = true;
            continue;
        }
        if (strcmp(argv[i], "message") == 0) {
            b.message = true;
            continue;
        }
        harness_need(&b.h, gpufifo_alloc(b.h.device, GPUFIFO_MEMORY_DEVICE, 2 * b.bytes + WORK_BYTES, &memory), "alloc");
        b.send = memory;
        b.recv = b.send + b.bytes;
        b.work = b.recv + b.bytes;
        run_habit(&b, argv[i]);
        harness_need(&b.h, gpufifo_free(b.h.device, memory), "free");
    }
    return harness_finish(&b.h);
}
