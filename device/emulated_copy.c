/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and fills: each an operation of a stream.
 */
#include "device/emulated_copy.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALLEST_PIECE = 64 * 1024, LONGEST_PAUSE_US = 8, LOOK_US = 50 };

/* A small delay, so that nobody can rely on how fast a copy is. */
static void delay(gf_stream *stream)
{
    uint64_t random = gf_emulated_stream_random(stream);

    if (random % 16 == 0) {
        usleep(1 + (useconds_t)(random >> 32) % LONGEST_PAUSE_US);
    } else if (random % 2) {
        sched_yield();
    }
}

struct copy {
    struct gf_operation operation;
    char *to;
    const char *from;
    size_t bytes;
    bool waits;                        /* for kernels that run */
};

/* A word that others poll arrives whole, and after what this stream did before. */
static bool copy_word(const struct copy *copy)
{
    uintptr_t both = (uintptr_t)copy->to | (uintptr_t)copy->from;

    if (copy->bytes == sizeof(uint64_t) && both % sizeof(uint64_t) == 0) {
        __atomic_store_n((uint64_t *)copy->to, __atomic_load_n((const uint64_t *)copy->from, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
        return true;
    }
    if (copy->bytes == sizeof(uint32_t) && both % sizeof(uint32_t) == 0) {
        __atomic_store_n((uint32_t *)copy->to, __atomic_load_n((const uint32_t *)copy->from, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

/* In pieces, from the front or from the back. */
static void copy_pieces(const struct copy *copy, gf_stream *stream)
{
    uint64_t random = gf_emulated_stream_random(stream);
    size_t piece = (size_t)SMALLEST_PIECE << (random >> 1) % 4;
    size_t pieces = (copy->bytes + piece - 1) / piece;

    for (size_t i = 0; i < pieces; i++) {
        size_t start = piece * (random % 2 ? pieces - 1 - i : i);
        size_t bytes = copy->bytes - start < piece ? copy->bytes - start : piece;
        memcpy(copy->to + start, copy->from + start, bytes);
        delay(stream);
    }
}

static void run_copy(struct gf_operation *self, gf_stream *stream)
{
    const struct copy *copy = (const struct copy *)self;

    delay(stream);
    while (copy->waits && __atomic_load_n(&stream->queues->kernels, __ATOMIC_ACQUIRE) > 0) {
        usleep(LOOK_US);
    }
    if (copy_word(copy)) {
        return;
    }
    if (copy->to < copy->from + copy->bytes && copy->from < copy->to + copy->bytes) {
        memmove(copy->to, copy->from, copy->bytes);
    } else {
        copy_pieces(copy, stream);
    }
}

gf_status gf_emulated_copy(gf_stream *stream, void *to, const void *from, size_t bytes, bool waits)
{
    struct copy *copy = malloc(sizeof *copy);
    if (!copy) {
        return GF_ERR_NO_MEMORY;
    }
    *copy = (struct copy){.operation.run = run_copy, .to = to, .from = from, .bytes = bytes,
                          .waits = waits};
    gf_emulated_stream_push(stream, &copy->operation);
    /* cppcheck-suppress memleak; the stream has it */
    return GF_OK;
}

struct fill {
    struct gf_operation operation;
    void *to;
    int byte;
    size_t bytes;
};

static void run_fill(struct gf_operation *self, gf_stream *stream)
{
    const struct fill *fill = (const struct fill *)self;

    delay(stream);
    memset(fill->to, fill->byte, fill->bytes);
}

gf_status gf_emulated_fill(gf_stream *stream, void *to, int byte, size_t bytes)
{
    struct fill *fill = malloc(sizeof *fill);
    if (!fill) {
        return GF_ERR_NO_MEMORY;
    }
    *fill = (struct fill){.operation.run = run_fill, .to = to, .byte = byte, .bytes = bytes};
    gf_emulated_stream_push(stream, &fill->operation);
    /* cppcheck-suppress memleak; the stream has it */
    return GF_OK;
}
