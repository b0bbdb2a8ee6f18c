/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived datatypes in device memory: random ones, against what MPI_Pack and MPI_Unpack make of them on the host; the number of
 * driver calls; types that come and go.
 *
 * Usage: test_pack [seed=N] [rounds=N] [types=N] [staged]     staged: messages are not packed on the device
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/random_types.h"
#include "tests/mpi/values.h"

enum { TAG = 5, MOST = 3000, THREADS = 3, THREAD_ROUNDS = 25 };

/* A buffer in device memory for some elements of a type, and what it should hold. */
struct typed {
    MPI_Datatype type;
    int count;
    struct type_span span;
    struct buffer buffer;
    size_t all;
    unsigned char *expected;
};

static void *address_of(const struct typed *typed)
{
    return typed->buffer.data + typed->span.before;
}

/* Random bytes, the same for the same seed. */
static void typed_create(struct harness *h, struct typed *typed, MPI_Datatype type, int count, uint64_t seed)
{
    typed->type = type;
    typed->count = count;
    typed->span = type_span(type, count);
    typed->all = (size_t)(typed->span.before + typed->span.behind);
    typed->expected = host_alloc(h, typed->all + 1);
    for (size_t i = 0; i < typed->all; i++) {
        typed->expected[i] = (unsigned char)random_next(&seed);
    }
    buffer_create(h, &typed->buffer, GPUFIFO_MEMORY_DEVICE, typed->all, seed % 3 ? 0 : (size_t)(seed % 17));
    buffer_write(&typed->buffer, typed->expected);
}

static void typed_pack(struct harness *h, const struct typed *typed, void *packed)
{
    int position = 0;

    MPI_Pack(typed->expected + typed->span.before, typed->count, typed->type, packed, typed->span.bytes, &position, MPI_COMM_WORLD);
    harness_need(h, position != typed->span.bytes, "pack");
}

/* Of so many bytes, whole elements. */
static void typed_unpack(struct typed *typed, const void *packed, int bytes)
{
    int position = 0, size;

    MPI_Type_size(typed->type, &size);
    MPI_Unpack((void *)packed, bytes, &position, typed->expected + typed->span.before, bytes / size, typed->type, MPI_COMM_WORLD);
}

/* All of it, gaps too. */
static void typed_check(struct harness *h, struct typed *typed, const char *what, uint64_t seed)
{
    unsigned char *is = host_alloc(h, typed->all + 1);
    size_t wrong = 0;

    buffer_read(&typed->buffer, is);
    while (wrong < typed->all && is[wrong] == typed->expected[wrong]) {
        wrong++;
    }
    harness_check(h, wrong == typed->all, "%s, seed %llu: byte %zu of %zu is wrong", what, (unsigned long long)seed, wrong, typed->all);
    buffer_destroy(&typed->buffer, what);
    free(typed->expected);
    free(is);
}

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
    MPI_Irecv(address_of(&bytes), bytes.count, MPI_BYTE, previous, TAG, comm, &requests[0]);
    MPI_Isend(address_of(&from), sent, type, next, TAG, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    typed_pack(h, &from_previous, bytes.expected);
    MPI_Irecv(address_of(&to), count, type, previous, TAG, comm, &requests[2]);
    MPI_Isend(address_of(&bytes), bytes.count, MPI_BYTE, next, TAG, comm, &requests[3]);
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

/* From all to all: the saved component sees bounce buffers. Of collectives that pass data on, Open MPI's own fail for some types, on
 * host memory too. */
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
    MPI_Alltoallw(send.buffer.data, send.counts, send.displacements, send.types, recv.buffer.data, recv.counts, recv.displacements,
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
    MPI_Bcast(address_of(&mine), count, type, 0, MPI_COMM_WORLD);
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
        int count = 1 + (int)(random_next(&state) % 12), sent = random_next(&state) % 2 ? count : 1 + (int)(random_next(&state) % (uint64_t)count);

        exchange(h, MPI_COMM_WORLD, type, count, sent, now);
        if (h->ranks > 1) {                /* Open MPI's own component for one rank takes displacements for elements */
            collect(h, type, count, now);
        }
        broadcast(h, type, count, now);
        MPI_Type_free(&type);
    }
}

/* One that the component counts. */
struct counter {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

static struct counter counter_open(struct harness *h, const char *name)
{
    struct counter counter;
    int level, index, count;

    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
    MPI_T_pvar_session_create(&counter.session);
    harness_need(h, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index), name);
    MPI_T_pvar_handle_alloc(counter.session, index, NULL, &counter.handle, &count);
    return counter;
}

static unsigned long long counter_read(const struct counter *counter)
{
    unsigned long long value;

    MPI_T_pvar_read(counter->session, counter->handle, &value);
    return value;
}

static void counter_close(struct counter *counter)
{
    MPI_T_pvar_handle_free(counter->session, &counter->handle);
    MPI_T_pvar_session_free(&counter->session);
    MPI_T_finalize();
}

static MPI_Datatype irregular_type(int blocks)
{
    int *places = malloc((size_t)blocks * sizeof *places);
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        places[i] = 3 * i + (i * 7 % 11 == 0);
    }
    MPI_Type_create_indexed_block(blocks, 1, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    free(places);
    return type;
}

/* A kernel an end, and once a type its list, as many blocks as it may have. Those packed on the device are fetched. */
static void check_calls(struct harness *h, bool staged)
{
    static const int blocks[] = {30, 3000, 100000};
    struct counter calls = counter_open(h, "coll_gpufifo_staging_driver_calls");
    struct counter pulled = counter_open(h, "coll_gpufifo_calls_pt2pt_pulled");
    int other = h->rank ^ 1;

    for (size_t i = 0; i < 2 * sizeof blocks / sizeof *blocks && other < h->ranks; i++) {
        MPI_Datatype type = i % 2 ? irregular_type(blocks[i / 2]) : MPI_DATATYPE_NULL;
        struct typed from, to;

        if (i % 2 == 0) {
            MPI_Type_vector(blocks[i / 2], 1, 3, MPI_DOUBLE, &type);
            MPI_Type_commit(&type);
        }
        typed_create(h, &from, type, 1, (uint64_t)other);
        typed_create(h, &to, type, 1, 99);
        for (unsigned long long round = 0; round < 2; round++) {
            unsigned long long before = counter_read(&calls), fetched = counter_read(&pulled), expected = 2 + (round == 0 && i % 2);

            MPI_Sendrecv(address_of(&from), 1, type, other, TAG, address_of(&to), 1, type, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            harness_check(h, counter_read(&calls) - before == expected, "%d blocks: %llu copies and kernels instead of %llu",
                          blocks[i / 2], counter_read(&calls) - before, expected);
            harness_check(h, counter_read(&pulled) - fetched == (staged ? 0 : 2), "%d blocks: not fetched", blocks[i / 2]);
        }
        MPI_Type_free(&type);
        buffer_destroy(&from.buffer, "from");
        buffer_destroy(&to.buffer, "to");
        free(from.expected);
        free(to.expected);
    }
    counter_close(&pulled);
    counter_close(&calls);
}

/* Types that are made, used and freed, mostly at an address that a type of another layout had; some freed while under way. Neither
 * host nor device memory grows: of the device there is little (GPUFIFO_EMULATED=memory=). */
static void check_recreated(struct harness *h, long types)
{
    enum { DOUBLES = 600 };
    static double is[DOUBLES], data[DOUBLES];
    struct buffer from, to;
    size_t at_first = 0;
    long wrong = 0;

    buffer_create(h, &from, GPUFIFO_MEMORY_DEVICE, sizeof data, 0);
    buffer_create(h, &to, GPUFIFO_MEMORY_DEVICE, sizeof data, 0);
    for (int i = 0; i < DOUBLES; i++) {
        data[i] = i;
    }
    buffer_write(&from, data);
    for (long round = 0; round < types; round++) {
        int first = (int)(round % 97), places[] = {first, first + 2 + (int)(round % 5), first + 100, first + 101 + (int)(round % 7)};
        MPI_Request requests[2];
        MPI_Datatype type;

        MPI_Type_create_indexed_block(4, 1, places, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Irecv(to.data, 4, MPI_DOUBLE, (h->rank + 1) % h->ranks, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from.data, 1, type, (h->rank + h->ranks - 1) % h->ranks, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Type_free(&type);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (round % 50 == 0 || round > types - 200) {
            buffer_read(&to, is);
            for (int i = 0; i < 4; i++) {
                wrong += is[i] != places[i];
            }
        }
        if (round == types / 4) {
            at_first = mallinfo2().uordblks;
        }
    }
    harness_check(h, wrong == 0, "types at one address: %ld numbers are wrong", wrong);
    harness_check(h, types < 1000 || mallinfo2().uordblks < at_first + (size_t)types * 16, "%ld types: %zu bytes became %zu", types,
                  at_first, mallinfo2().uordblks);
    buffer_destroy(&from, "from");
    buffer_destroy(&to, "to");
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
    bool threads = false, staged = false;
    long rounds = 60, types = 0;
    uint64_t seed = 1;
    struct harness h;

    for (int i = 1; i < argc; i++) {
        threads |= strcmp(argv[i], "threads") == 0;
        staged |= strcmp(argv[i], "staged") == 0;
        seed = strncmp(argv[i], "seed=", 5) == 0 ? strtoull(argv[i] + 5, NULL, 10) : seed;
        rounds = strncmp(argv[i], "rounds=", 7) == 0 ? strtol(argv[i] + 7, NULL, 10) : rounds;
        types = strncmp(argv[i], "types=", 6) == 0 ? strtol(argv[i] + 6, NULL, 10) : types;
    }
    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("%s: seed=%llu\n", h.name, (unsigned long long)seed);
    }
    check_random(&h, seed, rounds);
    check_calls(&h, staged);
    check_recreated(&h, types);
    if (threads) {
        check_threads(&h, seed);
    }
    return harness_finish(&h);
}
