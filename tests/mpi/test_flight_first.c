/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Non-blocking collectives on device buffers on communicators that no blocking call has set up, and by several threads.
 *
 * Usage: test_flight_first [path=NAME] [seed=N] [rounds=N] [threads] PART...
 *   threads   MPI_THREAD_MULTIPLE; first of all
 *   first     each form as the first call of a communicator: ranks enter one after the other, each told by a message of the
 *             one before, which has returned from its call, waited for its device and freed memory
 *   burst     all forms begun before any has ended, then a blocking call, and all forms once more
 *   reduced   the same after a blocking allreduce, which needs no mapped buffers
 *   late      one rank has host buffers in the first calls; then none has
 *   freed     a communicator is freed right after its first call
 *   each      each of three threads has a communicator of its own, and calls in flight there of device and, if a path is not
 *             asked for, host buffers
 *   seen      another thread moves each call on and sees it completed, and the one that began it then only ends it, and begins
 *             the next
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/flight_call.h"

enum { THREADS = 3, CALLS = 6 };

static MPI_Comm fresh(const struct test *t)
{
    MPI_Comm comm;

    MPI_Comm_dup(t->world, &comm);
    return comm;
}

static void first(struct test *t, enum form form)
{
    struct harness *h = t->h;
    MPI_Comm comm = fresh(t);
    struct flight f;
    void *other;

    flight_prepare(t, comm, GPUFIFO_MEMORY_DEVICE, form, h->ranks / 2, &f);
    if (h->rank > 0) {
        MPI_Recv(NULL, 0, MPI_INT, h->rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, 1 << 20, &other), "allocate");
    flight_start(&f, comm);
    harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    harness_need(h, gpufifo_free(h->device, other), "free");
    if (h->rank + 1 < h->ranks) {
        MPI_Send(NULL, 0, MPI_INT, h->rank + 1, 1, MPI_COMM_WORLD);
    }
    flight_end(t, &f, "first");
    MPI_Comm_free(&comm);
}

static void all_forms(struct test *t, MPI_Comm comm, bool host, const char *what)
{
    struct flight f[FORMS];

    for (int form = 0; form < t->forms; form++) {
        flight_begin(t, comm, host ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE, form, form % t->h->ranks, &f[form]);
    }
    for (int form = t->forms; form-- > 0;) {
        flight_end(t, &f[form], what);
    }
}

static void blocking(struct test *t, MPI_Comm comm, bool allreduce)
{
    struct buffer buffer;

    buffer_create(t->h, &buffer, GPUFIFO_MEMORY_DEVICE, COUNT * sizeof(int), 0);
    if (allreduce) {
        MPI_Allreduce(MPI_IN_PLACE, buffer.data, COUNT, MPI_INT, MPI_SUM, comm);
    } else {
        MPI_Bcast(buffer.data, COUNT, MPI_INT, 0, comm);
    }
    buffer_destroy(&buffer, "a blocking call");
}

static void burst(struct test *t, bool reduced)
{
    MPI_Comm comm = fresh(t);

    if (reduced) {
        blocking(t, comm, true);
    }
    all_forms(t, comm, false, "burst");
    blocking(t, comm, reduced);
    all_forms(t, comm, false, "after a blocking call");
    MPI_Comm_free(&comm);
}

static void late(struct test *t)
{
    MPI_Comm comm = fresh(t);

    all_forms(t, comm, t->h->rank == t->h->ranks - 1, "one host rank");
    all_forms(t, comm, false, "no host rank any more");
    MPI_Comm_free(&comm);
}

static void freed(struct test *t)
{
    for (int form = 0; form < t->forms; form++) {
        MPI_Comm comm = fresh(t);
        struct flight f;

        flight_begin(t, comm, GPUFIFO_MEMORY_DEVICE, form, 0, &f);
        MPI_Comm_free(&comm);
        flight_end(t, &f, "freed");
    }
}

struct thread {
    struct test test;
    MPI_Comm comm;
    int rounds;
    bool mixed;
    pthread_t id;
};

/* What is under way is waited for in any order; barriers of the saved component are among them. */
static void *make_calls(void *ctx)
{
    struct thread *mine = ctx;
    struct test *t = &mine->test;
    struct flight f[CALLS];

    for (int round = 0; round < mine->rounds; round++) {
        MPI_Request barrier;

        for (int i = 0; i < CALLS; i++) {
            bool host = mine->mixed && flight_draw(&t->own, 4) == 0;

            flight_begin(t, mine->comm, host ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE,
                         flight_draw(&t->common, (unsigned)t->forms), (int)flight_draw(&t->common, (unsigned)t->h->ranks), &f[i]);
            if (i == CALLS / 2) {
                MPI_Ibarrier(mine->comm, &barrier);
            }
        }
        for (int i = CALLS; i-- > 0;) {
            flight_end(t, &f[(i + round) % CALLS], "of a thread");
        }
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void each(struct test *t, int rounds, bool mixed)
{
    struct thread threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.test = *t, .comm = fresh(t), .rounds = rounds, .mixed = mixed};
        threads[i].test.common += (uint64_t)i * 77;
        threads[i].test.own += (uint64_t)i * 777;
    }
    for (int i = 0; i < THREADS; i++) {
        harness_need(t->h, pthread_create(&threads[i].id, NULL, make_calls, &threads[i]) == 0 ? MPI_SUCCESS : MPI_ERR_OTHER,
                     "make a thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        MPI_Comm_free(&threads[i].comm);
    }
}

struct watch {
    MPI_Request request;
    _Atomic bool seen;
};

/* Nothing is ordered by "seen": that the request was given back before it is used again is not the program's to see to. */
static void *see(void *ctx)
{
    struct watch *watch = ctx;
    int ended = 0;

    while (!ended) {
        MPI_Request_get_status(watch->request, &ended, MPI_STATUS_IGNORE);
    }
    atomic_store_explicit(&watch->seen, true, memory_order_relaxed);
    return NULL;
}

static void seen(struct test *t)
{
    MPI_Comm comm = fresh(t);
    struct flight f[2];

    flight_begin(t, comm, GPUFIFO_MEMORY_DEVICE, 0, 0, &f[0]);
    for (int form = 1; form <= t->forms; form++) {
        struct flight *last = &f[(form - 1) % 2], *next = &f[form % 2];
        struct watch watch = {.request = last->request};
        pthread_t id;

        flight_prepare(t, comm, GPUFIFO_MEMORY_DEVICE, form % t->forms, form % t->h->ranks, next);
        harness_need(t->h, pthread_create(&id, NULL, see, &watch) == 0 ? MPI_SUCCESS : MPI_ERR_OTHER, "make a thread");
        while (!atomic_load_explicit(&watch.seen, memory_order_relaxed)) {
            sched_yield();
        }
        MPI_Wait(&last->request, MPI_STATUS_IGNORE);
        flight_start(next, comm);
        pthread_join(id, NULL);
        flight_end(t, last, "seen");
    }
    flight_end(t, &f[t->forms % 2], "the last one");
    MPI_Comm_free(&comm);
}

static void run_part(struct test *t, const char *part, int rounds, bool mixed)
{
    if (strcmp(part, "first") == 0) {
        for (int form = 0; form < t->forms; form++) {
            first(t, form);
        }
    } else if (strcmp(part, "burst") == 0) {
        burst(t, false);
    } else if (strcmp(part, "reduced") == 0) {
        burst(t, true);
    } else if (strcmp(part, "late") == 0) {
        late(t);
    } else if (strcmp(part, "freed") == 0) {
        freed(t);
    } else if (strcmp(part, "each") == 0) {
        each(t, rounds, mixed);
    } else if (strcmp(part, "seen") == 0) {
        seen(t);
    } else {
        harness_check(t->h, false, "there is no part \"%s\": first, burst, reduced, late, freed, each, seen", part);
    }
}

int main(int argc, char **argv)
{
    bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    struct harness h;
    struct test t = { .h = &h, .common = 1, .own = 1, .forms = FORMS };
    struct paths_counters counters;
    const char *path = NULL;
    int rounds = 10;

    harness_start(&h, argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= RANKS_MOST ? MPI_SUCCESS : MPI_ERR_ARG, "at most 16 ranks");
    t.own += (uint64_t)h.rank * 1000;
    t.world = flight_world(&h);
    paths_open(&counters);
    for (int i = threads ? 2 : 1; i < argc; i++) {
        if (strncmp(argv[i], "path=", 5) == 0) {
            path = argv[i] + 5;
        } else if (strncmp(argv[i], "rounds=", 7) == 0) {
            rounds = atoi(argv[i] + 7);
        } else if (strncmp(argv[i], "seed=", 5) == 0) {
            t.common = strtoull(argv[i] + 5, NULL, 10);
            t.own = t.common + (uint64_t)h.rank * 1000;
        } else {
            run_part(&t, argv[i], rounds, path == NULL);
        }
    }
    if (path) {
        harness_check_path(&h, path, &counters);
    }
    paths_close(&counters);
    MPI_Comm_free(&t.world);
    return harness_finish(&h);
}
