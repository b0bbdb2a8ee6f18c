/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program without device buffers pays for the component: the time of an 8-byte MPI_Allreduce, or of messages, on host
 * memory. host_overhead.sh runs it with and without the component in turn.
 *
 * Usage: host_overhead allreduce|messages [SAMPLES [CALLS]]
 * Prints at rank 0 lines "NAME BYTES NANOSECONDS": the median over SAMPLES of the time of a call or of a message, one way; each
 * sample is the mean of CALLS calls, or of about as many messages, fewer of large ones. Messages go between ranks 0 and 1.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"

enum { MOST_SAMPLES = 100000, MOST_BYTES = 65536, WINDOW = 64 };

/* One exchange between the two ranks; every message of `bytes` bytes is counted. */
struct pattern {
    const char *name;
    void (*run)(int rank, int bytes);
    int messages;
};

static char outgoing[MOST_BYTES], incoming[WINDOW][MOST_BYTES];

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || value < 1 || value > MOST_SAMPLES) {
        fprintf(stderr, "host_overhead: \"%s\" should be a number from 1 to %d\n", text, MOST_SAMPLES);
        exit(1);
    }
    return value;
}

static void run_allreduce(int rank, int bytes)
{
    (void)rank;
    MPI_Allreduce(outgoing, incoming, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void run_blocking(int rank, int bytes)
{
    if (rank == 0) {
        MPI_Send(outgoing, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(incoming, bytes, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
        MPI_Send(outgoing, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void run_nonblocking(int rank, int bytes)
{
    MPI_Request receive, send;

    MPI_Irecv(incoming, bytes, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, &receive);
    if (rank == 0) {
        MPI_Isend(outgoing, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    if (rank == 1) {
        MPI_Isend(outgoing, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
}

/* One way; the receiver answers with an empty message. */
static void run_window(int rank, int bytes)
{
    MPI_Request request[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0) {
            MPI_Isend(outgoing, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request[i]);
        } else {
            MPI_Irecv(incoming[i], bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request[i]);
        }
    }
    MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static double median_ns(const struct pattern *pattern, int rank, int bytes, int count, int calls)
{
    static double samples[MOST_SAMPLES];
    int exchanges = calls / pattern->messages / (1 + bytes / 2048);

    exchanges = exchanges > 0 ? exchanges : 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int sample = -count / 10; sample < count; sample++) {      /* the first tenth warms up */
        double start = MPI_Wtime();
        for (int i = 0; i < exchanges; i++) {
            pattern->run(rank, bytes);
        }
        if (sample >= 0) {
            samples[sample] = (MPI_Wtime() - start) * 1e9 / exchanges / pattern->messages;
        }
    }
    samples_sort(samples, count);
    return samples_at(samples, count, 0.5);
}

/* What was received last is what was sent last: false if not. */
static bool run_pattern(const struct pattern *pattern, int rank, int bytes, int count, int calls)
{
    memset(outgoing, rank + 1, sizeof outgoing);
    double median = median_ns(pattern, rank, bytes, count, calls);

    if (rank == 0) {
        printf("%s %d %.1f\n", pattern->name, bytes, median);
    }
    bool one_way = pattern->run == run_window;
    return (one_way && rank == 0) || incoming[one_way ? WINDOW - 1 : 0][bytes - 1] == !rank + 1;
}

static bool run_messages(int rank, int count, int calls)
{
    static const struct pattern patterns[] = { { "blocking", run_blocking, 2 }, { "nonblocking", run_nonblocking, 2 },
                                               { "window", run_window, WINDOW } };
    static const int sizes[] = { 8, 128, 1024, 65536 };
    bool right = true;

    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            right &= run_pattern(&patterns[p], rank, sizes[s], count, calls);
        }
    }
    return right;
}

static bool run_collective(int rank, int ranks, int count, int calls)
{
    static const struct pattern allreduce = { "allreduce", run_allreduce, 1 };
    double one = 1, sum = 0;

    memcpy(outgoing, &one, sizeof one);
    double median = median_ns(&allreduce, rank, 8, count, calls);
    if (rank == 0) {
        printf("%s 8 %.1f\n", allreduce.name, median);
    }
    memcpy(&sum, incoming, sizeof sum);
    return sum == ranks;
}

int main(int argc, char **argv)
{
    bool messages = argc > 1 && strcmp(argv[1], "messages") == 0;
    int rank, ranks;

    if (argc < 2 || argc > 4 || (!messages && strcmp(argv[1], "allreduce") != 0)) {
        fprintf(stderr, "Usage: host_overhead allreduce|messages [SAMPLES [CALLS]]\n");
        return 1;
    }
    int count = argc > 2 ? number(argv[2]) : 200, calls = argc > 3 ? number(argv[3]) : 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (messages && ranks != 2) {
        fprintf(stderr, "host_overhead: messages go between two ranks: mpirun -n 2\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bool right = messages ? run_messages(rank, count, calls) : run_collective(rank, ranks, count, calls);
    if (!right) {
        fprintf(stderr, "host_overhead: rank %d: a wrong result\n", rank);
    }
    MPI_Finalize();
    return right ? 0 : 1;
}
