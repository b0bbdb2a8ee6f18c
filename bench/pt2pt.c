/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between the two ranks of a pair: round trips, and windows of messages that are in flight at once. The first rank of
 * each pair takes the time, from before its first message until it has the answer; nothing else is between two samples, so
 * the ranks stay in step by the messages alone.
 *
 * Each message of a window has its own place in both buffers and its own contents.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl.h"
#include "bench/test.h"

enum {
    PERIOD = 251,                      /* of the contents, in bytes */
    BLOCK_BYTES = PERIOD << 12,        /* whole periods: one block serves for a message of any size */
    MESSAGE_TAG = 1,
    ANSWER_TAG = 2
};
static const size_t window_bytes_most = (size_t)1 << 30;

/* This rank's part. */
struct role {
    int partner;
    bool first;                        /* of the pair */
};

static struct role role_of(const struct bench *bench)
{
    int half = bench->ranks / 2;
    bool first = bench->rank < half;

    return (struct role){ .partner = first ? bench->rank + half : bench->rank - half, .first = first };
}

static size_t window_of(const struct bench *bench, size_t bytes)
{
    size_t fit = window_bytes_most / bytes, window = (size_t)bench->options->window;

    return fit < 1 ? 1 : fit < window ? fit : window;
}

static size_t count_window(const struct bench *bench, size_t *bytes)
{
    return window_of(bench, *bytes);
}

static size_t count_one(const struct bench *bench, size_t *bytes)
{
    (void)bench;
    (void)bytes;
    return 1;
}

static const char *too_large(const struct bench *bench)
{
    return bench->options->max > INT32_MAX ? "--max is larger than 2147483647 bytes, which one message cannot have" : NULL;
}

static const char *unfit_two(const struct bench *bench)
{
    return bench->ranks != 2 ? "this test is one of two ranks: mpirun -n 2; more take the test multi" : too_large(bench);
}

static const char *unfit_pairs(const struct bench *bench)
{
    return bench->ranks % 2 ? "this test is one of pairs of ranks: give mpirun an even number" : too_large(bench);
}

static void memory_one(const struct bench *bench, enum gpufifo_memory *send, enum gpufifo_memory *recv, size_t *bytes)
{
    *send = *recv = role_of(bench).first ? bench->options->send : bench->options->recv;
    *bytes = bench->options->max;
}

/* The largest size need not have the largest window in bytes. */
static void memory_window(const struct bench *bench, enum gpufifo_memory *send, enum gpufifo_memory *recv, size_t *bytes)
{
    const struct bench_options *o = bench->options;

    memory_one(bench, send, recv, bytes);
    for (size_t size = o->min; size <= o->max; size *= o->factor) {
        size_t window = size * window_of(bench, size);
        *bytes = window > *bytes ? window : *bytes;
    }
}

/* The contents of message m that this rank sends begin at this byte of a block. */
static size_t shift_of(int sender, size_t m)
{
    return (17 * m + 101 * (size_t)sender) % PERIOD;
}

static unsigned char *block_create(const struct bench *bench)
{
    unsigned char *block = bench_host_alloc(bench, BLOCK_BYTES + PERIOD);

    for (size_t i = 0; i < BLOCK_BYTES + PERIOD; i++) {
        block[i] = (unsigned char)(i % PERIOD + 1);
    }
    return block;
}

static void fill(const struct bench *bench, size_t bytes, size_t count)
{
    unsigned char *block = block_create(bench);

    for (size_t m = 0; m < count; m++) {
        for (size_t start = 0; start < bytes; start += BLOCK_BYTES) {
            size_t part = bytes - start < BLOCK_BYTES ? bytes - start : BLOCK_BYTES;
            bench_must(bench, gpufifo_copy(bench->device, (char *)bench->send + m * bytes + start,
                                           block + shift_of(bench->rank, m), part), "copy");
        }
    }
    bench_must(bench, gpufifo_fill(bench->device, bench->recv, 0, bytes * count), "fill");
    free(block);
}

/* Of a rank that received. */
static size_t count_wrong_both(const struct bench *bench, size_t bytes, size_t count)
{
    unsigned char *block = block_create(bench), *got = bench_host_alloc(bench, BLOCK_BYTES);
    size_t wrong = 0;

    for (size_t m = 0; m < count; m++) {
        const unsigned char *expected = block + shift_of(role_of(bench).partner, m);

        for (size_t start = 0; start < bytes; start += BLOCK_BYTES) {
            size_t part = bytes - start < BLOCK_BYTES ? bytes - start : BLOCK_BYTES;
            bench_must(bench, gpufifo_copy(bench->device, got, (char *)bench->recv + m * bytes + start, part), "copy");
            if (memcmp(got, expected, part) != 0) {
                for (size_t i = 0; i < part; i++) {
                    wrong += got[i] != expected[i];
                }
            }
        }
    }
    free(block);
    free(got);
    return wrong;
}

static size_t count_wrong_second(const struct bench *bench, size_t bytes, size_t count)
{
    return role_of(bench).first ? 0 : count_wrong_both(bench, bytes, count);
}

/* The buffers that MPI gets, by method. */
static char *send_place(const struct bench *bench, enum method method)
{
    return method == METHOD_STAGED ? bench->host_send : bench->send;
}

static char *recv_place(const struct bench *bench, enum method method)
{
    return method == METHOD_STAGED ? bench->host_recv : bench->recv;
}

/* What a program without device buffers does before it sends and after it has received a message; nothing if direct. */
static void before_send(const struct bench *bench, enum method method, size_t offset, size_t bytes)
{
    if (method == METHOD_STAGED) {
        const char *from = (char *)bench->send + offset;
        bench_must(bench, gpufifo_copy(bench->device, (char *)bench->host_send + offset, from, bytes), "copy");
    }
}

static void after_recv(const struct bench *bench, enum method method, size_t offset, size_t bytes)
{
    if (method == METHOD_STAGED) {
        const char *from = (char *)bench->host_recv + offset;
        bench_must(bench, gpufifo_copy(bench->device, (char *)bench->recv + offset, from, bytes), "copy");
    }
}

static void send_one(const struct bench *bench, enum method method, size_t bytes)
{
    if (bench_is_nccl(bench, method)) {
        nccl_messages(bench->nccl, role_of(bench).partner, bench->send, NULL, bytes, 1);
        return;
    }
    before_send(bench, method, 0, bytes);
    MPI_Send(send_place(bench, method), (int)bytes, MPI_BYTE, role_of(bench).partner, MESSAGE_TAG, MPI_COMM_WORLD);
}

static void recv_one(const struct bench *bench, enum method method, size_t bytes)
{
    if (bench_is_nccl(bench, method)) {
        nccl_messages(bench->nccl, role_of(bench).partner, NULL, bench->recv, bytes, 1);
        return;
    }
    MPI_Recv(recv_place(bench, method), (int)bytes, MPI_BYTE, role_of(bench).partner, MESSAGE_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    after_recv(bench, method, 0, bytes);
}

static double sample_latency(const struct bench *bench, enum method method, size_t bytes, size_t count)
{
    (void)count;
    if (!role_of(bench).first) {
        recv_one(bench, method, bytes);
        send_one(bench, method, bytes);
        return 0;
    }
    double start = MPI_Wtime();
    send_one(bench, method, bytes);
    recv_one(bench, method, bytes);
    return (MPI_Wtime() - start) * 1e6 / 2;
}

static void window_recv(const struct bench *bench, enum method method, size_t bytes, size_t count, MPI_Request *request)
{
    for (size_t m = 0; m < count; m++) {
        MPI_Irecv(recv_place(bench, method) + m * bytes, (int)bytes, MPI_BYTE, role_of(bench).partner, MESSAGE_TAG,
                  MPI_COMM_WORLD, &request[m]);
    }
}

static void window_send(const struct bench *bench, enum method method, size_t bytes, size_t count, MPI_Request *request)
{
    for (size_t m = 0; m < count; m++) {
        before_send(bench, method, m * bytes, bytes);
        MPI_Isend(send_place(bench, method) + m * bytes, (int)bytes, MPI_BYTE, role_of(bench).partner, MESSAGE_TAG,
                  MPI_COMM_WORLD, &request[m]);
    }
}

static void window_wait(const struct bench *bench, enum method method, size_t bytes, size_t count, bool receives,
                        MPI_Request *request)
{
    MPI_Waitall((int)count, request, MPI_STATUSES_IGNORE);
    for (size_t m = 0; m < count && receives; m++) {
        after_recv(bench, method, m * bytes, bytes);
    }
}

/* A window out of this rank, into it, or both. */
static void windows_exchange(const struct bench *bench, enum method method, size_t bytes, size_t count, bool out, bool in)
{
    MPI_Request sent[count], received[count];

    if (bench_is_nccl(bench, method)) {
        nccl_messages(bench->nccl, role_of(bench).partner, out ? bench->send : NULL, in ? bench->recv : NULL, bytes, count);
        return;
    }
    if (in) {
        window_recv(bench, method, bytes, count, received);
    }
    if (out) {
        window_send(bench, method, bytes, count, sent);
    }
    if (in) {
        window_wait(bench, method, bytes, count, true, received);
    }
    if (out) {
        window_wait(bench, method, bytes, count, false, sent);
    }
}

/* The second rank answers when it has all messages. */
static double sample_one_way(const struct bench *bench, enum method method, size_t bytes, size_t count)
{
    struct role role = role_of(bench);
    int answer = 0;
    double start = MPI_Wtime();

    windows_exchange(bench, method, bytes, count, role.first, !role.first);
    if (role.first) {
        MPI_Recv(&answer, 1, MPI_INT, role.partner, ANSWER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return (MPI_Wtime() - start) * 1e6;
    }
    MPI_Send(&answer, 1, MPI_INT, role.partner, ANSWER_TAG, MPI_COMM_WORLD);
    return 0;
}

static double sample_both_ways(const struct bench *bench, enum method method, size_t bytes, size_t count)
{
    double start = MPI_Wtime();

    windows_exchange(bench, method, bytes, count, true, true);
    return role_of(bench).first ? (MPI_Wtime() - start) * 1e6 : 0;
}

static int timers(const struct bench *bench)
{
    return bench->ranks / 2;
}

/* GB/s (10^9) and millions of messages a second, of all pairs and directions. */
static void rates(struct figures *figures, double messages)
{
    figures->rate[0] = (double)figures->bytes * messages / figures->median_us / 1e3;
    figures->rate[1] = messages / figures->median_us;
}

static void rates_one_way(const struct bench *bench, struct figures *figures)
{
    rates(figures, (double)figures->count * timers(bench));
}

static void rates_both_ways(const struct bench *bench, struct figures *figures)
{
    rates(figures, 2.0 * (double)figures->count * timers(bench));
}

static void title_latency(const struct bench *bench, char *text, size_t bytes)
{
    (void)bench;
    snprintf(text, bytes, "latency, half a round trip");
}

static void title_window(const struct bench *bench, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s, windows of %d messages", test_name(bench->options->kind), bench->options->window);
}

/* What all tests have in common, and what those of windows do. */
#define MESSAGES \
    .count_column = { "messages", "messages" }, \
    .rate_column = { { "bandwidth", "GB/s" }, { "message_rate", "Mmessages/s" } }, \
    .fill = fill, .timers = timers
#define WINDOWS MESSAGES, .title = title_window, .memory = memory_window, .count = count_window

const struct bench_test latency_test = {
    MESSAGES, .title = title_latency, .memory = memory_one, .count = count_one,
    .unfit = unfit_two, .sample = sample_latency, .count_wrong = count_wrong_both, .rates = rates_one_way,
};

const struct bench_test bandwidth_test = {
    WINDOWS, .unfit = unfit_two, .sample = sample_one_way, .count_wrong = count_wrong_second, .rates = rates_one_way,
};

const struct bench_test bibandwidth_test = {
    WINDOWS, .unfit = unfit_two, .sample = sample_both_ways, .count_wrong = count_wrong_both, .rates = rates_both_ways,
};

const struct bench_test multi_test = {
    WINDOWS, .unfit = unfit_pairs, .sample = sample_one_way, .count_wrong = count_wrong_second, .rates = rates_one_way,
};
