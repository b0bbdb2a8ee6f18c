/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs that MPI and CUDA allow, and on which libraries have hung or gone wrong: each waits for something that must not depend
 * on the message under way.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { GO = 1, DATA = 2, CROWD = 1000, ROUNDS = 30, BURST = 300, SELF_BURST = 10, BESIDE = 6,
       LARGE = 64 << 20 };

static const size_t sizes[] = {8, 67, 4096, 70000, 1 << 20, 5 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* A receive is pending while the program waits for all work of its device; only then does the sender get its go. */
static void synchronise(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to;
        MPI_Request request;
        MPI_Status status;

        message_create(e, &from, sizes[i], i);
        landing_create(e, &to, sizes[i]);
        MPI_Irecv(to.data, (int)sizes[i], MPI_BYTE, e->previous, DATA, MPI_COMM_WORLD, &request);
        harness_need(e->h, gpufifo_synchronize(e->h->device), "synchronize");
        MPI_Send(NULL, 0, MPI_BYTE, e->previous, GO, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, e->next, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(from.data, (int)sizes[i], MPI_BYTE, e->next, DATA, MPI_COMM_WORLD);
        harness_need(e->h, gpufifo_synchronize(e->h->device), "synchronize");
        MPI_Wait(&request, &status);
        status_check(e, &status, e->previous, DATA, sizes[i]);
        landing_check(e, &to, sizes[i], e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* The program's kernel. It ends when it is told to, and only then. */
struct kernel {
    gpufifo_device *device;
    pthread_t thread;
    atomic_bool runs, end, ended;
};

static void spin(void *arguments)
{
    struct kernel *kernel = *(struct kernel **)arguments;

    atomic_store(&kernel->runs, true);
    while (!atomic_load(&kernel->end)) {
        sched_yield();
    }
    atomic_store(&kernel->ended, true);
}

static void *launch(void *argument)
{
    struct kernel *kernel = argument;

    if (gpufifo_run(kernel->device, spin, &kernel) != 0) {
        fprintf(stderr, "test_pt2pt_legal: this device runs no functions of a program: it has no long kernel here\n");
        abort();
    }
    return NULL;
}

static void start_kernel(const struct ends *e, struct kernel *kernel)
{
    atomic_store(&kernel->end, false);
    atomic_store(&kernel->ended, false);
    atomic_store(&kernel->runs, false);
    harness_need(e->h, pthread_create(&kernel->thread, NULL, launch, kernel), "pthread_create");
    while (!atomic_load(&kernel->runs)) {
        sched_yield();
    }
}

static void end_kernel(const struct ends *e, struct kernel *kernel)
{
    harness_check(e->h, !atomic_load(&kernel->ended), "%s: the kernel has ended before the messages had come", e->name);
    atomic_store(&kernel->end, true);
    pthread_join(kernel->thread, NULL);
    harness_check(e->h, atomic_load(&kernel->ended), "%s: the kernel has not run", e->name);
}

static void pass(const struct ends *e, const struct buffer *from, const struct buffer *to)
{
    MPI_Request requests[2];

    MPI_Irecv(to->data, (int)to->bytes, MPI_BYTE, e->previous, DATA, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from->data, (int)from->bytes, MPI_BYTE, e->next, DATA, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Messages of this size, more in turn than launches can be queued at a time; each is right while the kernel still runs. */
static void pass_beside(const struct ends *e, size_t bytes, struct kernel *kernel, bool has_kernel)
{
    struct buffer from[BESIDE], to[BESIDE];

    for (int k = 0; k < BESIDE; k++) {
        message_create(e, &from[k], bytes, k);
        landing_create(e, &to[k], bytes);
    }
    if (has_kernel) {
        start_kernel(e, kernel);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < BESIDE; k++) {
        pass(e, &from[k], &to[k]);
        landing_compare(e, &to[k], bytes, e->previous, k);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (has_kernel) {
        end_kernel(e, kernel);
    }
    for (int k = 0; k < BESIDE; k++) {
        buffer_destroy(&to[k], e->name);
        buffer_destroy(&from[k], e->name);
    }
}

/* A kernel of the first rank, or of all, runs on until messages of all sizes have been exchanged. freed: from where others have
 * come before, so that these may still be mapped there. */
static void exchange_beside_kernel(const struct ends *e, bool all, bool freed)
{
    struct kernel kernel = {.runs = false};

    harness_need(e->h, gpufifo_device_open(NULL, -1, &kernel.device), "no device");
    for (int i = 0; i < SIZES; i++) {
        if (freed) {
            struct buffer from, to;

            landing_create(e, &to, sizes[i]);
            message_create(e, &from, sizes[i], BESIDE);
            pass(e, &from, &to);
            buffer_destroy(&from, e->name);
            landing_check(e, &to, sizes[i], e->previous, BESIDE);
        }
        pass_beside(e, sizes[i], &kernel, all || e->h->rank == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    gpufifo_device_close(kernel.device);
}

static void long_kernel(const struct ends *e)
{
    exchange_beside_kernel(e, false, false);
}

static void long_kernels(const struct ends *e)
{
    exchange_beside_kernel(e, true, false);
}

/* The memory in which large messages of the host's had waited is kept; it must not take the place of small receives', which would
 * be unpinned, and that waits for the kernel. */
static void after_large(const struct ends *e)
{
    struct ends large = *e;
    struct buffer from, to;

    large.from = GPUFIFO_MEMORY_HOST;
    large.to = GPUFIFO_MEMORY_DEVICE;
    message_create(&large, &from, LARGE, 0);
    landing_create(&large, &to, LARGE);
    pass(&large, &from, &to);
    landing_check(&large, &to, LARGE, large.previous, 0);
    buffer_destroy(&from, large.name);
    exchange_beside_kernel(e, false, false);
}

static void freed_before(const struct ends *e)
{
    exchange_beside_kernel(e, false, true);
}

/* Another buffer is freed, which waits for the device's work, while a receive is pending. */
static void free_another(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to, other;
        MPI_Request request;

        message_create(e, &from, sizes[i], i);
        landing_create(e, &to, sizes[i]);
        buffer_create(e->h, &other, GPUFIFO_MEMORY_DEVICE, sizes[i], 0);
        MPI_Irecv(to.data, (int)sizes[i], MPI_BYTE, e->previous, DATA, MPI_COMM_WORLD, &request);
        buffer_destroy(&other, e->name);
        MPI_Send(NULL, 0, MPI_BYTE, e->previous, GO, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, e->next, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(from.data, (int)sizes[i], MPI_BYTE, e->next, DATA, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        landing_check(e, &to, sizes[i], e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* The buffer is freed as soon as its send is complete, and the next message has another one, which may well lie at the same
 * address. */
static void reuse_address(const struct ends *e)
{
    for (int i = 0; i < ROUNDS * SIZES; i++) {
        size_t bytes = sizes[i % SIZES] / (size_t)(1 + i / SIZES % 3);
        struct buffer from, to;
        MPI_Request request;

        message_create(e, &from, bytes, i);
        landing_create(e, &to, bytes);
        MPI_Irecv(to.data, (int)bytes, MPI_BYTE, e->previous, DATA, MPI_COMM_WORLD, &request);
        MPI_Send(from.data, (int)bytes, MPI_BYTE, e->next, DATA, MPI_COMM_WORLD);
        buffer_destroy(&from, e->name);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        landing_check(e, &to, bytes, e->previous, i);
    }
}

/* The buffer changes as soon as its send is complete; the receive comes later. */
static void overwrite(const struct ends *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to;
        MPI_Request requests[2];

        message_create(e, &from, sizes[i], i);
        landing_create(e, &to, sizes[i]);
        MPI_Isend(from.data, (int)sizes[i], MPI_BYTE, e->next, DATA, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(to.data, (int)sizes[i], MPI_BYTE, e->previous, DATA, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        harness_need(e->h, gpufifo_fill(e->h->device, from.data, 0, sizes[i]), "fill");
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        landing_check(e, &to, sizes[i], e->previous, i);
        buffer_destroy(&from, e->name);
    }
}

/* Receives in the reverse order of the sends: each message is unexpected, or overtakes all others. */
static void thousand(const struct ends *e)
{
    struct buffer *from = calloc(CROWD, sizeof *from), *to = calloc(CROWD, sizeof *to);
    MPI_Request *requests = calloc(2 * CROWD, sizeof(MPI_Request));

    harness_need(e->h, from && to && requests ? 0 : -1, "no host memory");
    for (int i = 0; i < CROWD; i++) {
        message_create(e, &from[i], 1 + (size_t)i * 37 % 9000, i);
        landing_create(e, &to[i], from[i].bytes);
    }
    for (int i = 0; i < CROWD; i++) {
        MPI_Isend(from[i].data, (int)from[i].bytes, MPI_BYTE, e->next, i, MPI_COMM_WORLD, &requests[CROWD + i]);
    }
    for (int i = CROWD - 1; i >= 0; i--) {
        MPI_Irecv(to[i].data, (int)to[i].bytes, MPI_BYTE, e->previous, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(2 * CROWD, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < CROWD; i++) {
        landing_check(e, &to[i], to[i].bytes, e->previous, i);
        buffer_destroy(&from[i], e->name);
    }
    free(from);
    free(to);
    free(requests);
}

/* Not allowed, strictly, but everywhere: all ranks send small messages first, more than are set aside, and receive then. To
 * itself a process may send less so with 4.1's ob1, of host memory too. */
static void send_first(const struct ends *e)
{
    bool alone = e->h->ranks == 1;
    int burst = alone ? SELF_BURST : BURST;

    for (int i = 0; i < (alone ? 2 : 3); i++) {
        struct buffer from[BURST], to;

        for (int m = 0; m < burst; m++) {
            message_create(e, &from[m], sizes[i] / 2, m);
            MPI_Send(from[m].data, (int)from[m].bytes, MPI_BYTE, e->next, m, MPI_COMM_WORLD);
        }
        for (int m = burst - 1; m >= 0; m--) {
            landing_create(e, &to, from[m].bytes);
            MPI_Recv(to.data, (int)to.bytes, MPI_BYTE, e->previous, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            landing_check(e, &to, to.bytes, e->previous, m);
            buffer_destroy(&from[m], e->name);
        }
    }
}

static const struct {
    const char *name;
    void (*run)(const struct ends *);
} tests[] = {
    {"synchronise", synchronise},
    {"long kernel", long_kernel},
    {"long kernels", long_kernels},
    {"after large", after_large},
    {"freed before", freed_before},
    {"free another", free_another},
    {"reuse address", reuse_address},
    {"overwrite", overwrite},
    {"thousand", thousand},
    {"send first", send_first},
};

/* test_pt2pt_legal [NAME] */
int main(int argc, char **argv)
{
    static const enum gpufifo_memory kinds[][2] = {
        {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_DEVICE}, {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST},
        {GPUFIFO_MEMORY_HOST, GPUFIFO_MEMORY_DEVICE},
    };
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_FUNNELED);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
            struct ends ends = {.h = &h, .from = kinds[k][0], .to = kinds[k][1], .next = (h.rank + 1) % h.ranks,
                                .previous = (h.rank + h.ranks - 1) % h.ranks, .name = tests[t].name};
            if (argc < 2 || strcmp(argv[1], tests[t].name) == 0) {
                tests[t].run(&ends);
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
    }
    return harness_finish(&h);
}
