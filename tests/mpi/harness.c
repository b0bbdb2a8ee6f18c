/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start, end, checks and buffers of the MPI test programs.
 */
#include "tests/mpi/harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"

enum { GUARD = 256, CANARY = 0xA5, EMPTY = 0xEE, FAILURES_SHOWN = 5 };

static bool is_among(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; at; at = strchr(at, ','), at += at != NULL) {
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

void harness_check_path(struct harness *h, const char *names, const struct paths_counters *counters)
{
    struct paths taken;
    char text[512];
    bool first = false, others = false;

    paths_read(counters, &taken);
    paths_print(&taken, "none that gpufifo counts", text, sizeof text);
    for (int i = 0; i < taken.count; i++) {
        const char *name = taken.path[i].name;

        if (taken.path[i].calls > 0) {
            first |= strlen(name) == strcspn(names, ",") && strncmp(names, name, strlen(name)) == 0;
            others |= !is_among(names, name);
        }
    }
    harness_check(h, first && !others, "expected the path %s alone, but took: %s", names, text);
}

void harness_need(struct harness *h, int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s: rank %d: %s: %s\n", h->name, h->rank, what, gpufifo_error());
        MPI_Abort(MPI_COMM_WORLD, 2);
        exit(2);
    }
}

void harness_start(struct harness *h, int argc, char **argv, int threads)
{
    int provided;

    memset(h, 0, sizeof *h);
    h->name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    MPI_Init_thread(&argc, &argv, threads, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &h->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &h->ranks);
    if (provided < threads) {
        fprintf(stderr, "%s: MPI gives thread level %d, the test needs %d\n", h->name, provided, threads);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    harness_need(h, gpufifo_device_open(NULL, -1, &h->device), "no device");
}

int harness_finish(struct harness *h)
{
    long mine[2] = { h->checks, h->failures }, all[2];

    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (h->rank == 0) {
        printf("%s: %d ranks: %ld checks, %ld failed\n", h->name, h->ranks, all[0], all[1]);
        fflush(stdout);
    }
    gpufifo_device_close(h->device);
    MPI_Finalize();
    return all[1] == 0 && all[0] > 0 ? 0 : 1;
}

bool harness_check(struct harness *h, bool right, const char *format, ...)
{
    __atomic_fetch_add(&h->checks, 1, __ATOMIC_RELAXED);
    if (!right && __atomic_fetch_add(&h->failures, 1, __ATOMIC_RELAXED) < FAILURES_SHOWN) {
        char text[512];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        fprintf(stderr, "%s: rank %d: %s\n", h->name, h->rank, text);
    }
    return right;
}

void *host_alloc(struct harness *h, size_t bytes)
{
    void *pointer = malloc(bytes ? bytes : 1);

    if (!pointer) {
        fprintf(stderr, "%s: rank %d: no host memory for %zu bytes\n", h->name, h->rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
        exit(2);
    }
    return pointer;
}

void buffer_create(struct harness *h, struct buffer *buffer, enum gpufifo_memory kind, size_t bytes, size_t offset)
{
    void *block;

    harness_need(h, gpufifo_alloc(h->device, kind, GUARD + offset + bytes + GUARD, &block), "alloc");
    *buffer = (struct buffer){ .h = h, .kind = kind, .block = block, .data = (char *)block + GUARD + offset, .bytes = bytes };
    harness_need(h, gpufifo_fill(h->device, block, CANARY, GUARD + offset), "fill");
    harness_need(h, gpufifo_fill(h->device, buffer->data, EMPTY, bytes), "fill");
    harness_need(h, gpufifo_fill(h->device, buffer->data + bytes, CANARY, GUARD), "fill");
}

static bool canary_intact(const struct buffer *buffer, const char *from, size_t bytes)
{
    unsigned char seen[2 * GUARD];

    harness_need(buffer->h, gpufifo_copy(buffer->h->device, seen, from, bytes), "copy");
    for (size_t i = 0; i < bytes; i++) {
        if (seen[i] != CANARY) {
            return false;
        }
    }
    return true;
}

void buffer_destroy(struct buffer *buffer, const char *what)
{
    harness_check(buffer->h, canary_intact(buffer, buffer->data - GUARD, GUARD), "%s: wrote before the buffer", what);
    harness_check(buffer->h, canary_intact(buffer, buffer->data + buffer->bytes, GUARD), "%s: wrote behind the buffer", what);
    harness_need(buffer->h, gpufifo_free(buffer->h->device, buffer->block), "free");
}

void buffer_write(struct buffer *buffer, const void *host)
{
    harness_need(buffer->h, gpufifo_copy(buffer->h->device, buffer->data, host, buffer->bytes), "copy");
}

void buffer_read(const struct buffer *buffer, void *host)
{
    harness_need(buffer->h, gpufifo_copy(buffer->h->device, host, buffer->data, buffer->bytes), "copy");
}
