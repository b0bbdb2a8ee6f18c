/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived datatypes in device memory: random ones, against what MPI_Pack and MPI_Unpack make of them on the host.
 *
 * Usage: test_pack [seed=N] [rounds=N] [threads]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/typed.h"
#include "tests/mpi/values.h"

enum { TAG = 5, MOST = 3000, THREADS = 3, THREAD_ROUNDS = 25 };

/* From everyone to the next: typed data as bytes, and bytes as typed data, perhaps fewer than there is room for. */
static void exchange(struct harness *h, MPI_Comm comm, MPI_Datatype type, int count, int sent, uint64_t seed)
{
    int next = (h->rank + 1) % h->ranks, previous = (h->rank + h->ranks - 1) % h->ranks, size;
    struct typed from, bytes, to, from_previous;
    MPI_Request requests[4];

    MPI_Type_size(type, &size);
    typed_create(h, &from, type, sent, seed + (uint64_t)h->rank);
    typed_create(h, &from_previous, type, sent, seed + (uint64_t)previous);
    typed_create(h, &bytes, MPI_BYTE, sent * size, seed + 1000);
    typed_create(h, &to, type, count, seed + 2000);
    MPI_Irecv(typed_address(&bytes), bytes.count, MPI_BYTE, previous, TAG, comm, &requests[0]);
    MPI_Isend(typed_address(&from), sent, type, next, TAG, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    typed_pack(h, &from_previous, bytes.expected);
    MPI_Irecv(typed_address(&to), count, type, previous, TAG, comm, &requests[2]);
    MPI_Isend(typed_address(&bytes), bytes.count, MPI_BYTE, next, TAG, comm, &requests[3]);
    MPI_Waitall(2, &requests[2], MPI_STATUSES_IGNORE);
    if (h->ranks > 1) {
        int before = (previous + h->ranks - 1) % h->ranks;
        struct typed first;

        typed_create(h, &first, type, sent, seed + (uint64_t)before);
        unsigned char *packed = host_alloc(h, (size_t)first.span.bytes + 1);

        typed_pack(h, &first, packed);
        typed_unpack(&to, packed, sent * size);
        typed_check(h, &first, "unused", seed);
        free(packed);
    } else {
        typed_unpack(&to, bytes.expected, sent * size);
    }
    typed_check(h, &from, "sent", seed);
    typed_check(h, &from_previous, "unused", seed);
    typed_check(h, &bytes, "received as bytes", seed);
    typed_check(h, &to, "received as data with gaps", seed);
}

enum { MOST_RANKS = 8 };

/* A part for each rank, one behind the other in one buffer: to the program `count` elements of `type` at ints of bytes. */
struct parts {
    struct typed part[MOST_RANKS];
    struct buffer buffer;
    int counts[MOST_RANKS], displacements[MOST_RANKS];
    MPI_Datatype types[MOST_RANKS];
    size_t all;
};

static void parts_create(struct harness *h, struct parts *parts, MPI_Datatype type, int count, const uint64_t *seeds)
{
    unsigned char *image;

    parts->all = 0;
    for (int i = 0; i < h->ranks; i++) {
        struct typed *part = &parts->part[i];

        typed_create(h, part, type, count, seeds[i]);
        parts->counts[i] = count;
        parts->types[i] = type;
        parts->displacements[i] = (int)parts->all + (int)part->span.before;
        parts->all += part->all;
    }
    image = host_alloc(h, parts->all + 1);
    for (int i = 0; i < h->ranks; i++) {
        memcpy(image + parts->displacements[i] - parts->part[i].span.before, parts->part[i].expected, parts->part[i].all);
    }
    buffer_create(h, &parts->buffer, GPUFIFO_MEMORY_DEVICE, parts->all, 0);
    buffer_write(&parts->buffer, image);
    free(image);
}

/* Each part is checked in its own buffer. */
static void parts_check(struct harness *h, struct parts *parts, const char *what, uint64_t seed)
{
    unsigned char *image = host_alloc(h, parts->all + 1);

    buffer_read(&parts->buffer, image);
    for (int i = 0; i < h->ranks; i++) {
        buffer_write(&parts->part[i].buffer, image + parts->displacements[i] - parts->part[i].span.before);
        typed_check(h, &parts->part[i], what, seed);
    }
    buffer_destroy(&parts->buffer, what);
    free(image);
}

/* From all to all: the saved component sees bounce buffers. Of collectives that pass data on, Open MPI's own fail for some
 * types, on host memory too. */
static void collect(struct harness *h, MPI_Datatype type, int count, uint64_t seed)
{
    uint64_t out[MOST_RANKS], in[MOST_RANKS];
    struct parts send, recv;

    for (int i = 0; i < h->ranks; i++) {
        out[i] = seed + (uint64_t)(h->rank * 100 + i);
        in[i] = seed + 5000 + (uint64_t)i;
    }
    parts_create(h, &send, type, count, out);
    parts_create(h, &recv, type, count, in);
    MPI_Alltoallw(send.buffer.data, send.counts, send.displacements, send.types, recv.buffer.data, recv.counts,
                  recv.displacements,
                  recv.types, MPI_COMM_WORLD);
    for (int i = 0; i < h->ranks; i++) {
        struct typed one;

        typed_create(h, &one, type, count, seed + (uint64_t)(i * 100 + h->rank));
        unsigned char *packed = host_alloc(h, (size_t)one.span.bytes);

        typed_pack(h, &one, packed);
        typed_unpack(&recv.part[i], packed, one.span.bytes);
        typed_check(h, &one, "unused", seed);
        free(packed);
    }
    parts_check(h, &send, "sent to all", seed);
    parts_check(h, &recv, "received from all", seed);
}

static void broadcast(struct harness *h, MPI_Datatype type, int count, uint64_t seed)
{
    struct typed mine, root;
    unsigned char *packed;

    typed_create(h, &mine, type, count, seed + (uint64_t)h->rank);
    typed_create(h, &root, type, count, seed);
    packed = host_alloc(h, (size_t)root.span.bytes);
    MPI_Bcast(typed_address(&mine), count, type, 0, MPI_COMM_WORLD);
    typed_pack(h, &root, packed);
    typed_unpack(&mine, packed, root.span.bytes);
    typed_check(h, &mine, "broadcast", seed);
    typed_check(h, &root, "unused", seed);
    free(packed);
}

static void check_random(struct harness *h, uint64_t seed, long rounds)
{
    uint64_t state = seed;

    for (long round = 0; round < rounds; round++) {
        uint64_t now = state;
        MPI_Datatype type = random_type(&state, MOST);
        int count = 1 + (int)(random_next(&state) % 12), fewer = 1 + (int)(random_next(&state) % (uint64_t)count);
        int sent = random_next(&state) % 2 ? count : fewer;

        exchange(h, MPI_COMM_WORLD, type, count, sent, now);
        if (h->ranks > 1) {                /* Open MPI's own component for one rank takes displacements for elements */
            collect(h, type, count, now);
        }
        broadcast(h, type, count, now);
        MPI_Type_free(&type);
    }
}

/* Threads that use one type for the first time, all at once, each on its communicator. */
struct worker {
    pthread_t id;
    struct harness h;
    MPI_Comm comm;
    uint64_t seed;
    MPI_Datatype *shared;
    pthread_barrier_t *start;
};

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int round = 0; round < THREAD_ROUNDS; round++) {
        pthread_barrier_wait(w->start);
        exchange(&w->h, w->comm, w->shared[round], 3, 2, w->seed + (uint64_t)round);
    }
    return NULL;
}

static void check_threads(struct harness *h, uint64_t seed)
{
    struct worker workers[THREADS];
    MPI_Datatype shared[THREAD_ROUNDS];
    pthread_barrier_t start;
    uint64_t state = seed;

    for (int i = 0; i < THREAD_ROUNDS; i++) {
        shared[i] = random_type(&state, MOST);
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.h = *h, .seed = seed + (uint64_t)i * 10000, .shared = shared, .start = &start};
        workers[i].h.checks = workers[i].h.failures = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        harness_need(h, pthread_create(&workers[i].id, NULL, work, &workers[i]), "thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].id, NULL);
        h->checks += workers[i].h.checks;
        h->failures += workers[i].h.failures;
        MPI_Comm_free(&workers[i].comm);
    }
    for (int i = 0; i < THREAD_ROUNDS; i++) {
        MPI_Type_free(&shared[i]);
    }
    pthread_barrier_destroy(&start);
}

int main(int argc, char **argv)
{
    bool threads = false;
    long rounds = 60;
    uint64_t seed = 1;
    struct harness h;

    for (int i = 1; i < argc; i++) {
        threads |= strcmp(argv[i], "threads") == 0;
        seed = strncmp(argv[i], "seed=", 5) == 0 ? strtoull(argv[i] + 5, NULL, 10) : seed;
        rounds = strncmp(argv[i], "rounds=", 7) == 0 ? strtol(argv[i] + 7, NULL, 10) : rounds;
    }
    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("%s: seed=%llu\n", h.name, (unsigned long long)seed);
    }
    check_random(&h, seed, rounds);
    if (threads) {
        check_threads(&h, seed);
    }
    return harness_finish(&h);
}
