/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Allreduce with buffers as programs have them: freed and allocated again between calls, on some ranks only; several in one
 * allocation, at other offsets on each rank; in place on some ranks; the same buffers on several communicators.
 *
 * Usage: test_zerocopy [path=NAME] [rounds=N] PART...   with the parts reuse, offsets, communicators, and, where no setting
 * asks for an algorithm, bits: the same results whichever way a call goes; familiar: which call with a buffer is the first that
 * maps it; fresh: large calls with a new buffer each
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/parts.h"
#include "tests/mpi/values.h"

enum { MOST = 6000, LARGE = 30000, LASTING = 70 };      /* elements of a call; calls that earn a mapping */

/* What a rank contributes to element i of a call. */
static int32_t contribution(uint64_t call, int rank, size_t i)
{
    return (int32_t)((call * 31 + i * 7) % 1009 + (size_t)rank * 1013);
}

/* One call from send to recv, both with room for count elements of device memory. The same buffer: in place. */
static void check_call(struct harness *h, struct buffer *send, size_t from, struct buffer *recv, size_t to, size_t count,
                       uint64_t call, MPI_Comm comm)
{
    int rank, ranks;
    bool in_place = send == recv && from == to;
    int32_t *host = host_alloc(h, (send->bytes > recv->bytes ? send->bytes : recv->bytes)), *data = host + from;
    size_t wrong = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    buffer_read(send, host);
    for (size_t i = 0; i < count; i++) {
        data[i] = contribution(call, rank, i);
    }
    buffer_write(send, host);
    int result = MPI_Allreduce(in_place ? MPI_IN_PLACE : (int32_t *)(void *)send->data + from, (int32_t *)(void *)recv->data + to,
                               (int)count, MPI_INT32_T, MPI_SUM, comm);

    buffer_read(recv, host);
    data = host + to;
    for (size_t i = 0; i < count; i++) {
        int32_t expected = 0;

        for (int r = 0; r < ranks; r++) {
            expected += contribution(call, r, i);
        }
        wrong += data[i] != expected;
    }
    harness_check(h, result == MPI_SUCCESS && wrong == 0, "call %llu of %zu elements: result %d, %zu are wrong",
                  (unsigned long long)call, count, result, wrong);
    free(host);
}

/* The ranks draw the same counts; which buffer, and whether it is a new one, each draws for itself. */
static void check_reuse(struct harness *h, int rounds)
{
    enum { BUFFERS = 20 };
    struct buffer buffers[BUFFERS] = { 0 };
    uint64_t common = 4711, own = 1000 + (uint64_t)h->rank;

    for (int round = 0; round < rounds; round++) {
        size_t count = random_next(&common) % MOST + 1;
        struct buffer *used[2];

        for (int i = 0; i < 2; i++) {
            used[i] = &buffers[random_next(&own) % (random_next(&own) % 4 ? 4 : BUFFERS)];
            if (used[i]->data && (used[i]->bytes < count * 4 || (i == 0 && random_next(&own) % 3 == 0))) {
                buffer_destroy(used[i], "reuse");
                used[i]->data = NULL;
            }
            if (!used[i]->data) {
                size_t bytes = (count + random_next(&own) % 100) * 4;

                buffer_create(h, used[i], GPUFIFO_MEMORY_DEVICE, bytes, random_next(&own) % 4 * 4);
            }
        }
        check_call(h, used[0], 0, used[1], 0, count, (uint64_t)round, MPI_COMM_WORLD);
    }
    for (int i = 0; i < BUFFERS; i++) {
        if (buffers[i].data) {
            buffer_destroy(&buffers[i], "reuse");
        }
    }
}

/* Send and receive buffers in the two halves of one allocation, or the same, as each rank draws. */
static void check_offsets(struct harness *h, int rounds)
{
    struct buffer buffer;
    uint64_t common = 99, own = 2000 + (uint64_t)h->rank;

    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, (size_t)4 * MOST * 4, 0);
    for (int round = 0; round < rounds; round++) {
        size_t count = random_next(&common) % MOST + 1;
        size_t half = random_next(&own) % 2, shift = random_next(&own) % 3 ? 4 : 1;
        size_t from = half * 2 * MOST + random_next(&own) % (MOST / 8) * shift;
        size_t to = random_next(&own) % 2 ? from : (1 - half) * 2 * MOST + random_next(&own) % (MOST / 8) * shift;

        check_call(h, &buffer, from, &buffer, to, count, (uint64_t)round, MPI_COMM_WORLD);
    }
    buffer_destroy(&buffer, "offsets");
}

static void check_communicators(struct harness *h, int rounds)
{
    MPI_Comm comms[3] = { MPI_COMM_WORLD };
    struct buffer send, recv;
    uint64_t common = 5;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, h->rank == 0, -h->rank, &comms[2]);
    for (int turn = 0; turn < 2; turn++) {
        buffer_create(h, &send, GPUFIFO_MEMORY_DEVICE, MOST * 4, 0);
        buffer_create(h, &recv, GPUFIFO_MEMORY_DEVICE, MOST * 4, 0);
        for (int round = 0; round < rounds; round++) {
            size_t count = random_next(&common) % MOST + 1;

            check_call(h, &send, 0, &recv, 0, count, (uint64_t)round, comms[random_next(&common) % 3]);
        }
        buffer_destroy(&send, "communicators");
        buffer_destroy(&recv, "communicators");
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
}

/* Calls in place, on a new buffer each time or on this one. Were the first `other` of them, and no later one, run another way
 * than over mapped buffers? */
static void check_way(struct harness *h, const struct paths_counters *counters, struct buffer *kept, int calls, int other,
                      const char *what)
{
    for (int n = 1; n <= calls; n++) {
        struct paths before, after, taken;
        struct buffer fresh;

        if (!kept) {
            buffer_create(h, &fresh, GPUFIFO_MEMORY_DEVICE, LARGE * 4, 0);
        }
        paths_read(counters, &before);
        check_call(h, kept ? kept : &fresh, 0, kept ? kept : &fresh, 0, LARGE, (uint64_t)n, MPI_COMM_WORLD);
        paths_read(counters, &after);
        paths_difference(&before, &after, &taken);
        bool mapped = taken.count == 1 && strcmp(taken.path[0].name, "two_shot") == 0;

        harness_check(h, taken.count == 1 && mapped == (n > other), "%s: call %d went by %s", what, n,
                      taken.count ? taken.path[0].name : "none");
        if (!kept) {
            buffer_destroy(&fresh, what);
        }
    }
}

/* Without a setting: a buffer is mapped when it comes again and again. */
static void check_familiar(struct harness *h, const struct paths_counters *counters)
{
    struct buffer buffer;

    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, LARGE * 4, 0);
    check_way(h, counters, &buffer, 10, 2, "a buffer");
    check_way(h, counters, h->rank == 0 ? NULL : &buffer, 10, 10, "rank 0 has new buffers");
    check_way(h, counters, &buffer, 2, 0, "the buffer again");
    buffer_destroy(&buffer, "familiar");
    check_way(h, counters, NULL, 30, 30, "all have new buffers");
    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, LARGE * 4, 0);
    check_way(h, counters, &buffer, 100, 5, "a buffer after one that was soon freed");
    buffer_destroy(&buffer, "familiar");
    check_way(h, counters, NULL, 30, 30, "new buffers");
    buffer_create(h, &buffer, GPUFIFO_MEMORY_DEVICE, LARGE * 4, 0);
    check_way(h, counters, &buffer, 5, 2, "a buffer after one that lasted");
    buffer_destroy(&buffer, "familiar");
}

/* Values of all magnitudes, so that another order gives other bits. */
static void fill_doubles(struct harness *h, struct buffer *buffer, size_t count, uint64_t seed)
{
    double *values = host_alloc(h, buffer->bytes);
    uint64_t state = seed * 100 + (uint64_t)h->rank;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_next(&state);

        values[i] = ((double)(bits >> 12) - (double)(1ull << 51)) * (double)(1ull << (bits & 31));
    }
    buffer_write(buffer, values);
    free(values);
}

/* The same call on new buffers, again and again: it goes another way when these are known, which no bit tells. */
static void check_bits(struct harness *h, const struct paths_counters *counters, size_t most)
{
    static const size_t counts[] = { 12289, 20001, 33333, 100003, 262145 };
    size_t first_count = most > 100003 ? 4 : 0;

    for (size_t i = first_count; i < sizeof counts / sizeof counts[0] && counts[i] <= most; i++) {
        size_t bytes = counts[i] * sizeof(double);
        char *first = host_alloc(h, bytes), *got = host_alloc(h, bytes);
        struct paths before, after, taken;
        struct buffer send, recv;

        buffer_create(h, &send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
        buffer_create(h, &recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
        fill_doubles(h, &send, counts[i], i + 1);
        paths_read(counters, &before);
        for (int call = 1; call <= LASTING; call++) {
            MPI_Allreduce(send.data, recv.data, (int)counts[i], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            buffer_read(&recv, got);
            if (call == 1) {
                memcpy(first, got, bytes);
            }
            harness_check(h, memcmp(first, got, bytes) == 0, "%zu doubles: other bits in call %d", counts[i], call);
        }
        paths_read(counters, &after);
        paths_difference(&before, &after, &taken);
        harness_check(h, taken.count == 2, "%zu doubles: %d ways, not two", counts[i], taken.count);
        buffer_destroy(&send, "bits");
        buffer_destroy(&recv, "bits");
        free(first);
        free(got);
    }
}

static void run_part(void *ctx, const char *part, const struct parts *parts)
{
    struct harness *h = ctx;
    const struct paths_counters *counters = &parts->counters;
    int rounds = parts->rounds;

    if (strcmp(part, "reuse") == 0) {
        check_reuse(h, rounds);
    } else if (strcmp(part, "offsets") == 0) {
        check_offsets(h, rounds);
    } else if (strcmp(part, "communicators") == 0) {
        check_communicators(h, rounds);
    } else if (strcmp(part, "bits") == 0) {
        check_bits(h, counters, 100003);
    } else if (strcmp(part, "large_bits") == 0) {
        check_bits(h, counters, SIZE_MAX);
    } else if (strcmp(part, "familiar") == 0) {
        check_familiar(h, counters);
    } else if (strcmp(part, "fresh") == 0) {
        check_way(h, counters, NULL, rounds, rounds, "a new buffer");
    } else {
        harness_check(h, false, "there is no part \"%s\": reuse, offsets, communicators, bits, large_bits, familiar, fresh",
                      part);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct parts parts = { .ctx = &h, .run = run_part, .rounds = 150 };

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    parts_run(&h, argc, argv, &parts);
    return harness_finish(&h);
}
