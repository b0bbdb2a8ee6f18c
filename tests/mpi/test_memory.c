/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages and MPI_Allreduce with memory of each allocator that programs use: every rank sends to the next, then all reduce. Says
 * which path each took.
 *
 * Usage: test_memory [rounds=N] KIND[:MESSAGES[:COLLECTIVES]]...
 *   KIND         plain, vmm, vmm_private, pool, managed, pinned
 *   MESSAGES     all messages must take one of these paths (pt2pt_pulled,...), as the counters name them, and the first some
 *   COLLECTIVES  all of MPI_Allreduce must (two_shot,...)
 *
 * Buffers are freed and allocated again in each round, at the old address as a rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/pt2pt_buffers.h"

static const struct kind {
    const char *name;
    enum gpufifo_memory memory;
} kinds[] = {
    { "plain", GPUFIFO_MEMORY_DEVICE }, { "vmm", GPUFIFO_MEMORY_VMM }, { "vmm_private", GPUFIFO_MEMORY_VMM_PRIVATE },
    { "pool", GPUFIFO_MEMORY_POOL }, { "managed", GPUFIFO_MEMORY_MANAGED }, { "pinned", GPUFIFO_MEMORY_PINNED },
};
enum { KINDS = sizeof kinds / sizeof kinds[0], TAG = 8 };

static const size_t sizes[] = { 1, 5000, (300 << 10) + 7, 5 << 20 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* What one kind did since `counters` were opened, and whether it was what was wanted; null: anything. */
static void check_path(struct harness *h, const struct kind *kind, const char *what, const char *wanted,
                       const struct paths *before, const struct paths *after)
{
    struct paths taken;
    char text[512];
    bool right = true, first = false;

    paths_difference(before, after, &taken);
    paths_print(&taken, "none that gpufifo counts", text, sizeof text);
    if (h->rank == 0) {
        printf("%s: %s: %s\n", kind->name, what, text);
    }
    for (int i = 0; wanted && i < taken.count; i++) {
        right = right && strstr(wanted, taken.path[i].name);      /* no path's name is part of another's */
        first = first || strncmp(wanted, taken.path[i].name, strlen(taken.path[i].name)) == 0;
    }
    harness_check(h, !wanted || (right && first), "%s of %s memory took %s, not %s", what, kind->name, text,
                  wanted ? wanted : "");
}

static void send_round(struct ends *e, size_t bytes, unsigned seed)
{
    struct buffer from, to;
    MPI_Request send;
    MPI_Status status;

    message_create(e, &from, bytes, seed);
    landing_create(e, &to, bytes + 100);
    MPI_Isend(from.data, (int)bytes, MPI_BYTE, e->next, TAG, MPI_COMM_WORLD, &send);
    MPI_Recv(to.data, (int)to.bytes, MPI_BYTE, e->previous, TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    status_check(e, &status, e->previous, TAG, bytes);
    landing_check(e, &to, bytes, e->previous, seed);
    buffer_destroy(&from, e->name);
}

static int32_t contribution(int rank, unsigned seed, size_t i)
{
    return (int32_t)((rank + 1) * 1009 + (seed * 31 + i * 7) % 997);
}

static void reduce_round(struct ends *e, size_t count, unsigned seed)
{
    int32_t *host = host_alloc(e->h, count * sizeof *host);
    struct buffer from, to;
    size_t wrong = 0;

    buffer_create(e->h, &from, e->from, count * sizeof *host, 0);
    buffer_create(e->h, &to, e->to, count * sizeof *host, 0);
    for (size_t i = 0; i < count; i++) {
        host[i] = contribution(e->h->rank, seed, i);
    }
    buffer_write(&from, host);
    int result = MPI_Allreduce(from.data, to.data, (int)count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);

    buffer_read(&to, host);
    for (size_t i = 0; i < count; i++) {
        int32_t expected = 0;

        for (int r = 0; r < e->h->ranks; r++) {
            expected += contribution(r, seed, i);
        }
        wrong += host[i] != expected;
    }
    harness_check(e->h, result == MPI_SUCCESS && wrong == 0, "%s: allreduce of %zu elements: result %d, %zu are wrong", e->name,
                  count, result, wrong);
    free(host);
    buffer_destroy(&from, e->name);
    buffer_destroy(&to, e->name);
}

/* wanted: of messages, of collectives. */
static void check_kind(struct harness *h, const struct kind *kind, const char *const wanted[2], int rounds)
{
    struct ends e = { .h = h, .from = kind->memory, .to = kind->memory, .next = (h->rank + 1) % h->ranks,
                      .previous = (h->rank + h->ranks - 1) % h->ranks, .name = kind->name };
    struct paths_counters counters;
    struct paths start, sent, reduced;

    paths_open(&counters);
    paths_read(&counters, &start);
    for (int i = 0; i < rounds * SIZES; i++) {
        send_round(&e, sizes[i % SIZES], (unsigned)i);
    }
    paths_read(&counters, &sent);
    for (int i = 0; i < rounds * SIZES; i++) {
        reduce_round(&e, (sizes[i % SIZES] + 3) / 4, (unsigned)i);
    }
    paths_read(&counters, &reduced);
    check_path(h, kind, "messages", wanted[0], &start, &sent);
    check_path(h, kind, "allreduce", wanted[1], &sent, &reduced);
    paths_close(&counters);
}

static void run_word(struct harness *h, char *word, int rounds)
{
    const char *wanted[2] = { NULL, NULL };

    for (int i = 0; i < 2; i++) {
        char *colon = strrchr(word, ':');

        if (colon) {
            *colon = '\0';
            wanted[1] = wanted[0];
            wanted[0] = colon[1] ? colon + 1 : NULL;
        }
    }
    for (int k = 0; k < KINDS; k++) {
        if (strcmp(kinds[k].name, word) == 0) {
            check_kind(h, &kinds[k], wanted, rounds);
            return;
        }
    }
    harness_check(h, false, "there is no kind of memory \"%s\"", word);
}

int main(int argc, char **argv)
{
    struct harness h;
    int rounds = 3;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "rounds=", 7) == 0) {
            rounds = atoi(argv[i] + 7);
        } else {
            run_word(&h, argv[i], rounds);
        }
    }
    return harness_finish(&h);
}
