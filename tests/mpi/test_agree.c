/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agreement between ranks that pass host or device buffers: random sequences of MPI_Allreduce over several communicators,
 * each rank's buffers host or device at random. Checked are the results, and by the counters that a call runs natively
 * exactly if all its ranks have device buffers.
 *
 * Usage: test_agree PART [SEED [SHORTEST]]
 * SHORTEST: calls of fewer bytes run natively only on communicators of one node (by coll_gpufifo_node); 1 if not given.
 *   calls           one thread, overlapping communicators, other traffic in between
 *   races           host ranks leave each other behind by broadcasts, which do not wait for anybody
 *   communicators   hundreds, made, used once or twice and freed, so that their numbers come back at once
 *   threads         a communicator a thread (MPI_THREAD_MULTIPLE)
 *   apart           calls of ranks that cannot share memory, each in a PID namespace of its own: all are staged
 *   progress        a rank waits in a call for others that wait for a message of its, which MPI sends only if it makes progress
 *   pending         the program ends right after the first device call of a communicator that it does not free
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/values.h"

enum { COUNT_MOST = 3000, THREADS = 3 };

/* What the counters should have grown by, on this rank. */
struct expected {
    unsigned long long native, staged;
};

/* Memory of one rank for one thread's calls. */
struct memory {
    struct harness *h;
    int64_t *host_send, *host_recv, *check;
    struct buffer send, recv;
};

static size_t shortest = 1;           /* read-only after main has set it */

static void memory_create(struct harness *h, struct memory *m)
{
    m->h = h;
    m->host_send = host_alloc(h, COUNT_MOST * sizeof(int64_t));
    m->host_recv = host_alloc(h, COUNT_MOST * sizeof(int64_t));
    m->check = host_alloc(h, COUNT_MOST * sizeof(int64_t));
    buffer_create(h, &m->send, GPUFIFO_MEMORY_DEVICE, COUNT_MOST * sizeof(int64_t), 0);
    buffer_create(h, &m->recv, GPUFIFO_MEMORY_DEVICE, COUNT_MOST * sizeof(int64_t), 0);
}

static void memory_destroy(struct memory *m)
{
    buffer_destroy(&m->send, "send");
    buffer_destroy(&m->recv, "recv");
    free(m->host_send);
    free(m->host_recv);
    free(m->check);
}

static int64_t element(uint64_t seed, int rank, size_t i)
{
    return (int64_t)(seed % 1000) + rank * 7 + (int64_t)i;
}

static bool is_on_several_nodes(MPI_Comm comm)
{
    const char *name = getenv("OMPI_MCA_coll_gpufifo_node");
    char first[64] = "";

    snprintf(first, sizeof first, "%s", name ? name : "");
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, comm);
    int other = strcmp(first, name ? name : "") != 0, others;
    MPI_Allreduce(&other, &others, 1, MPI_INT, MPI_MAX, comm);
    return others != 0;
}

/* One allreduce: bit r of `devices` says that rank r of the communicator has device buffers. Equal arguments on all ranks. */
static void reduce(struct memory *m, MPI_Comm comm, uint64_t devices, size_t count, uint64_t seed, struct expected *expected)
{
    int rank, ranks, result;
    size_t wrong = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    bool mine = devices >> rank & 1, all = (devices & ((1ull << ranks) - 1)) == (1ull << ranks) - 1;
    bool staged = count * sizeof(int64_t) < shortest && is_on_several_nodes(comm);
    for (size_t i = 0; i < COUNT_MOST; i++) {
        m->host_send[i] = element(seed, rank, i);
    }
    if (mine) {
        buffer_write(&m->send, m->host_send);
        result = MPI_Allreduce(m->send.data, m->recv.data, (int)count, MPI_INT64_T, MPI_SUM, comm);
        buffer_read(&m->recv, m->check);
        *(all && !staged ? &expected->native : &expected->staged) += 1;
    } else {
        result = MPI_Allreduce(m->host_send, m->check, (int)count, MPI_INT64_T, MPI_SUM, comm);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t right = 0;
        for (int r = 0; r < ranks; r++) {
            right += element(seed, r, i);
        }
        wrong += m->check[i] != right;
    }
    harness_check(m->h, result == MPI_SUCCESS && wrong == 0, "%zu of %zu elements are wrong on %d ranks (devices %llx)", wrong,
                  count, ranks, (unsigned long long)devices);
}

/* Mostly all or none, or there would be few native calls. */
static uint64_t random_devices(uint64_t *state)
{
    uint64_t bits = random_next(state);

    switch (bits % 5) {
    case 0: return 0;
    case 1:
    case 2: return ~0ull;
    default: return bits >> 8;
    }
}

static size_t random_count(uint64_t *state)
{
    uint64_t bits = random_next(state);

    return bits % 2 ? 1 + bits / 2 % 4 : 1 + bits / 2 % COUNT_MOST;
}

static void check_counters(struct harness *h, struct paths_counters *counters, const struct expected *expected)
{
    struct paths taken;
    struct expected seen = {0, 0};

    paths_read(counters, &taken);
    paths_close(counters);
    for (int i = 0; i < taken.count; i++) {
        *(strcmp(taken.path[i].name, "staged") == 0 ? &seen.staged : &seen.native) += taken.path[i].calls;
    }
    harness_check(h, seen.native == expected->native && seen.staged == expected->staged,
                  "%llu native and %llu staged calls were counted, not %llu and %llu", seen.native, seen.staged, expected->native,
                  expected->staged);
}

/* Every rank draws for every communicator, so that the draws stay equal. */
static void test_calls(struct harness *h, uint64_t seed)
{
    MPI_Comm comms[4];
    uint64_t state = seed;
    struct expected expected = {0, 0};
    struct paths_counters counters;
    struct memory m;

    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, h->ranks - h->rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, h->rank % 2, h->rank, &comms[3]);
    memory_create(h, &m);
    paths_open(&counters);
    for (int call = 0; call < 200; call++) {
        uint64_t which = random_next(&state) % 4, devices = random_devices(&state), other = random_next(&state);
        size_t count = random_count(&state);
        int token = (int)other;
        if (other % 7 == 0) {
            MPI_Bcast(&token, 1, MPI_INT, 0, comms[which]);
        } else if (other % 7 == 1) {
            MPI_Sendrecv_replace(&token, 1, MPI_INT, (h->rank + 1) % h->ranks, 5, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        }
        reduce(&m, comms[which], devices, count, other, &expected);
    }
    check_counters(h, &counters, &expected);
    memory_destroy(&m);
    for (int i = 1; i < 4; i++) {
        MPI_Comm_free(&comms[i]);
    }
}

/* Before each call one rank alone does many things that take it past the others as far as MPI lets it. */
static void test_races(struct harness *h, uint64_t seed)
{
    uint64_t state = seed;
    struct expected expected = {0, 0};
    struct paths_counters counters;
    struct memory m;
    MPI_Comm comm;

    memory_create(h, &m);
    paths_open(&counters);
    for (int round = 0; round < 20; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < 12; call++) {
            uint64_t bits = random_next(&state), devices = random_devices(&state);
            int slow = (int)(bits % (uint64_t)h->ranks), ahead = (int)(bits >> 8) % 5;
            for (int i = 0; i < ahead; i++) {
                int token = i;
                MPI_Bcast(&token, 1, MPI_INT, (slow + 1) % h->ranks, comm);
            }
            if (h->rank == slow) {
                for (volatile int spin = 0; spin < 200000; spin++) {
                }
            }
            reduce(&m, comm, devices, 1 + bits % 3, bits, &expected);
        }
        MPI_Comm_free(&comm);
    }
    check_counters(h, &counters, &expected);
    memory_destroy(&m);
}

static long resident_pages(void)
{
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file) {
        if (fscanf(file, "%ld %ld", &size, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident;
}

/* A number that comes back at once, with another leader now and then, and a device call that is the communicator's last. */
static void test_communicators(struct harness *h, uint64_t seed)
{
    uint64_t state = seed;
    struct expected expected = {0, 0};
    struct paths_counters counters;
    struct memory m;
    MPI_Comm comm;
    long pages = 0;

    memory_create(h, &m);
    paths_open(&counters);
    for (int i = 0; i < 150; i++) {
        uint64_t bits = random_next(&state);
        MPI_Comm_split(MPI_COMM_WORLD, bits & 1 ? h->rank % 2 : 0, bits & 2 ? h->rank : -h->rank, &comm);
        for (uint64_t call = 0; call < 1 + bits / 4 % 2; call++) {
            reduce(&m, comm, random_devices(&state), 1 + bits / 8 % 100, bits, &expected);
        }
        MPI_Comm_free(&comm);
    }
    check_counters(h, &counters, &expected);
    memory_destroy(&m);
    for (int i = 0; i < 1200; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
        pages = i == 199 ? resident_pages() : pages;
    }
    pages = resident_pages() - pages;
    harness_check(h, pages < 512, "1000 communicators made and freed leave %ld pages", pages);
}

struct worker {
    struct memory memory;
    MPI_Comm comm;
    uint64_t seed;
    struct expected expected;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    uint64_t state = w->seed;

    for (int call = 0; call < 60; call++) {
        uint64_t devices = random_devices(&state), bits = random_next(&state);
        reduce(&w->memory, w->comm, devices, random_count(&state), bits, &w->expected);
    }
    return NULL;
}

static void test_threads(struct harness *h, uint64_t seed)
{
    struct worker workers[THREADS];
    struct harness parts[THREADS];
    struct expected expected = {0, 0};
    pthread_t threads[THREADS];
    struct paths_counters counters;

    paths_open(&counters);
    for (int i = 0; i < THREADS; i++) {
        parts[i] = *h;
        parts[i].checks = parts[i].failures = 0;
        workers[i] = (struct worker){.seed = seed * THREADS + (uint64_t)i};
        memory_create(&parts[i], &workers[i].memory);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        harness_need(h, pthread_create(&threads[i], NULL, work, &workers[i]), "pthread_create");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        memory_destroy(&workers[i].memory);
        MPI_Comm_free(&workers[i].comm);
        expected.native += workers[i].expected.native;
        expected.staged += workers[i].expected.staged;
        h->checks += parts[i].checks;
        h->failures += parts[i].failures;
    }
    check_counters(h, &counters, &expected);
}

static void test_apart(struct harness *h, uint64_t seed)
{
    uint64_t state = seed;
    struct expected expected = {0, 0};
    struct paths_counters counters;
    struct memory m;

    memory_create(h, &m);
    paths_open(&counters);
    for (int call = 0; call < 30; call++) {
        uint64_t devices = random_devices(&state);
        reduce(&m, MPI_COMM_WORLD, devices, random_count(&state), devices, &expected);
    }
    expected.staged += expected.native;
    expected.native = 0;
    check_counters(h, &counters, &expected);
    memory_destroy(&m);
}

/* The first time the communicator has no device side yet. */
static void test_progress(struct harness *h, uint64_t seed)
{
    enum { BYTES = 4 << 20, CALLS = 10 };
    struct expected expected = {0, 0};
    char *data = calloc(1, BYTES);
    MPI_Request requests[64];
    struct paths_counters counters;
    struct memory m;

    harness_need(h, data && h->ranks <= 64 ? 0 : 1, "host memory for a message");
    memory_create(h, &m);
    paths_open(&counters);
    for (int call = 0; call < CALLS; call++) {
        for (int rank = 1; rank < h->ranks && h->rank == 0; rank++) {
            MPI_Isend(data, BYTES, MPI_CHAR, rank, call, MPI_COMM_WORLD, &requests[rank]);
        }
        if (h->rank > 0) {
            MPI_Recv(data, BYTES, MPI_CHAR, 0, call, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        reduce(&m, MPI_COMM_WORLD, ~(uint64_t)0, 10, seed + (uint64_t)call, &expected);
        if (h->rank == 0) {
            MPI_Waitall(h->ranks - 1, requests + 1, MPI_STATUSES_IGNORE);
        }
    }
    check_counters(h, &counters, &expected);
    memory_destroy(&m);
    free(data);
}

static void test_pending(struct harness *h, uint64_t seed)
{
    struct expected expected = {0, 0};
    struct memory m;
    MPI_Comm comm;

    memory_create(h, &m);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    reduce(&m, comm, seed, 10, seed, &expected);
    memory_destroy(&m);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct harness *h, uint64_t seed);
    } parts[] = {{"calls", test_calls}, {"races", test_races}, {"communicators", test_communicators}, {"threads", test_threads},
                 {"apart", test_apart}, {"progress", test_progress}, {"pending", test_pending}};
    const char *name = argc > 1 ? argv[1] : "";
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct harness h;

    shortest = argc > 3 ? strtoull(argv[3], NULL, 0) : shortest;
    harness_start(&h, argc, argv, strcmp(name, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (h.rank == 0) {
        printf("test_agree: %s, seed %llu\n", name, (unsigned long long)seed);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            parts[i].test(&h, seed);
        }
    }
    return harness_finish(&h);
}
