/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Non-blocking and persistent collectives on device buffers that go on by themselves: whatever a program does between the call,
 * or the start, and the wait, nothing of it waits for a rank that waits for it. Blocking calls set the communicators up first,
 * for then they are native (coll_gpufifo_mapped).
 *
 * Usage: test_flight [path=NAME] [seed=N] [rounds=N] [moves] [persistent] PART...
 *   moves       without the reductions, in what follows
 *   persistent  persistent calls, in what follows
 *   away        each form: ranks enter one after the other, each told by a message of the one before, which waits for its device
 *               and frees memory in between; then all look for the result without MPI
 *   receive     each rank but the last, in calls of all forms already, receives a message that its peer sends before it enters
 *   crossed     calls in flight on two communicators, begun and ended in other orders by other ranks
 *   freed       the communicator is freed while a call is in flight, which lands or is staged after all
 *   mixed       random sequences of calls in flight, of device and host buffers, and blocking ones between them
 *   turns       persistent calls that each rank starts in an order of its own, again and again, among other calls; more of them
 *               than one page of slots has
 *   again       a persistent call whose buffer is freed and comes back between starts
 *   gone        the same, but it does not come back
 */
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/flight_call.h"

static void blocking(struct test *t, MPI_Comm comm)
{
    struct buffer buffer;

    buffer_create(t->h, &buffer, GPUFIFO_MEMORY_DEVICE, COUNT, 0);
    MPI_Bcast(buffer.data, COUNT, MPI_BYTE, 0, comm);
    buffer_destroy(&buffer, "a blocking call");
}

static void away(struct test *t, enum form form)
{
    struct harness *h = t->h;
    struct flight f;
    void *other;

    flight_prepare(t, t->world, GPUFIFO_MEMORY_DEVICE, form, h->ranks / 2, &f);
    if (h->rank > 0) {
        MPI_Recv(NULL, 0, MPI_INT, h->rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, 1 << 20, &other), "allocate");
    flight_start(&f, t->world);
    harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    harness_need(h, gpufifo_free(h->device, other), "free");
    if (h->rank + 1 < h->ranks) {
        MPI_Send(NULL, 0, MPI_INT, h->rank + 1, 1, MPI_COMM_WORLD);
    }
    while (!flight_is_right(&f)) {
        harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    }
    flight_end(t, &f, "away");
}

static void receive(struct test *t)
{
    struct harness *h = t->h;
    struct flight f[FORMS];

    for (int form = 0; form < t->forms; form++) {
        flight_prepare(t, t->world, GPUFIFO_MEMORY_DEVICE, form, h->ranks - 1, &f[form]);
    }
    if (h->rank > 0) {
        MPI_Ssend(&h->rank, 1, MPI_INT, h->rank - 1, 2, MPI_COMM_WORLD);
    }
    for (int form = 0; form < t->forms; form++) {
        flight_start(&f[form], t->world);
    }
    if (h->rank + 1 < h->ranks) {
        int next;

        MPI_Recv(&next, 1, MPI_INT, h->rank + 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int form = t->forms; form-- > 0;) {
        flight_end(t, &f[form], "receive");
    }
}

static void crossed(struct test *t)
{
    MPI_Comm comms[2] = { t->world, MPI_COMM_NULL };
    struct flight f[2][FORMS];
    MPI_Comm_dup(t->world, &comms[1]);
    blocking(t, comms[1]);
    for (int k = 0; k < 2 * t->forms; k++) {
        int form = k % t->forms;

        flight_prepare(t, comms[k / t->forms], GPUFIFO_MEMORY_DEVICE, form, form % t->h->ranks, &f[k / t->forms][form]);
    }
    for (int k = 0; k < 2 * t->forms; k++) {
        int c = (k / t->forms + t->h->rank) % 2;

        flight_start(&f[c][k % t->forms], comms[c]);
    }
    for (int k = 0; k < 2 * t->forms; k++) {
        int at = t->h->rank % 3 == 0 ? 2 * t->forms - 1 - k : k;

        flight_end(t, &f[at / t->forms][at % t->forms], "crossed");
    }
    MPI_Comm_free(&comms[1]);
}

/* Its communicator may go before it has ended, also one that is staged after all; but a persistent one of Open MPI itself does
 * not survive that. */
static void freed(struct test *t)
{
    for (int staged = 0; staged < (t->persistent ? 1 : 2); staged++) {
        bool host = staged && t->h->rank == 0;
        struct flight f;
        MPI_Comm comm;

        MPI_Comm_dup(t->world, &comm);
        blocking(t, comm);
        flight_begin(t, comm, host ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE, IALLGATHER, 0, &f);
        MPI_Comm_free(&comm);
        flight_end(t, &f, "freed");
    }
}

/* Each rank says for itself what memory it passes; who is slow to enter is slow by what it allocates. */
static void mixed(struct test *t, int rounds)
{
    struct flight f[MANY], *left[MANY];

    for (int round = 0; round < rounds; round++) {
        int many = 1 + (int)flight_draw(&t->common, MANY), all = (int)flight_draw(&t->common, 3);

        for (int i = 0; i < many; i++) {
            bool device = all == 0 || flight_draw(&t->own, 3) > 0;
            enum form form = flight_draw(&t->common, (unsigned)t->forms);

            flight_begin(t, t->world, device ? GPUFIFO_MEMORY_DEVICE : GPUFIFO_MEMORY_HOST, form,
                  (int)flight_draw(&t->common, (unsigned)t->h->ranks), &f[i]);
            left[i] = &f[i];
            if (flight_draw(&t->common, 8) == 0) {
                blocking(t, t->world);
            }
        }
        for (int i = many; i-- > 0; ) {
            int other = (int)flight_draw(&t->own, (unsigned)i + 1);
            struct flight *next = left[other];

            left[other] = left[i];
            flight_end(t, next, "mixed");
        }
    }
}

static void shuffle(uint64_t *random, int *order, int count)
{
    for (int i = 0; i < count; i++) {
        int other = (int)flight_draw(random, (unsigned)i + 1);

        order[i] = order[other];
        order[other] = i;
    }
}

/* Persistent operations of all forms, each four times or more; one rank has host buffers in some. In turn each rank waits for
 * each before it starts the next one. */
static void turns(struct test *t, int rounds)
{
    enum { ALL = 5 * FORMS };
    struct flight *f = calloc(ALL, sizeof *f), other;
    int count = 4 * t->forms + (int)flight_draw(&t->common, (unsigned)t->forms), order[ALL];

    t->persistent = true;
    for (int i = 0; i < count; i++) {
        bool host = flight_draw(&t->common, 8) == 0 && t->h->rank == i % t->h->ranks;

        flight_prepare(t, t->world, host ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE, i % t->forms, i % t->h->ranks,
                       &f[i]);
    }
    t->persistent = false;
    for (int round = 0; round < rounds; round++) {
        bool one_by_one = round % t->h->ranks == t->h->rank;      /* which the others' blocking calls must not wait for */
        int before = one_by_one ? 0 : (int)flight_draw(&t->own, (unsigned)count);

        shuffle(&t->own, order, count);
        for (int i = 0; i < count; i++) {
            if (i == before) {
                blocking(t, t->world);
                flight_begin(t, t->world, GPUFIFO_MEMORY_DEVICE, IALLGATHER, 0, &other);
            }
            flight_start(&f[order[i]], t->world);
            if (one_by_one) {
                flight_check(t, &f[order[i]], "one by one");
            }
        }
        flight_end(t, &other, "among turns");
        shuffle(&t->own, order, count);
        for (int i = 0; i < count; i++) {
            flight_check(t, &f[order[i]], "turns");
            flight_fill(&f[order[i]], f[order[i]].value + ALL);
        }
    }
    shuffle(&t->own, order, count);
    for (int i = 0; i < count; i++) {
        flight_start(&f[i], t->world);
    }
    for (int i = 0; i < count; i++) {
        flight_end(t, &f[order[i]], "the last turns");
    }
    free(f);
}

/* The memory at a persistent one's address may be another at the next start, or none, which is an error. */
static void again(struct test *t, bool gone)
{
    struct flight f;

    t->persistent = true;
    flight_prepare(t, t->world, GPUFIFO_MEMORY_DEVICE, IALLGATHER, 0, &f);
    t->persistent = false;
    for (int round = 0; round < 4; round++) {
        size_t bytes = f.send.bytes;
        void *before = f.send.data;

        flight_start(&f, t->world);
        flight_check(t, &f, "again");
        buffer_destroy(&f.send, "again");
        if (!gone) {
            buffer_create(t->h, &f.send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
            harness_check(t->h, before == f.send.data, "the address does not come back: the test shows nothing");
            flight_fill(&f, f.value + 1);
        }
    }
    flight_start(&f, t->world);
    flight_end(t, &f, "again");
}

static void run_part(struct test *t, const char *part, int rounds)
{
    if (strcmp(part, "away") == 0) {
        for (int form = 0; form < t->forms; form++) {
            away(t, form);
        }
    } else if (strcmp(part, "receive") == 0) {
        receive(t);
    } else if (strcmp(part, "crossed") == 0) {
        crossed(t);
    } else if (strcmp(part, "freed") == 0) {
        freed(t);
    } else if (strcmp(part, "mixed") == 0) {
        mixed(t, rounds);
    } else if (strcmp(part, "turns") == 0) {
        turns(t, rounds);
    } else if (strcmp(part, "again") == 0) {
        again(t, false);
    } else if (strcmp(part, "gone") == 0) {
        again(t, true);
    } else {
        harness_check(t->h, false, "there is no part \"%s\": away, receive, crossed, freed, mixed, turns, again, gone", part);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct test t = { .h = &h, .common = 1, .own = 1, .forms = FORMS };
    struct paths_counters counters;
    const char *path = NULL;
    int rounds = 30;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= RANKS_MOST ? MPI_SUCCESS : MPI_ERR_ARG, "at most 16 ranks");
    t.own += (uint64_t)h.rank * 1000;
    paths_open(&counters);
    t.world = flight_world(&h);
    blocking(&t, t.world);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "path=", 5) == 0) {
            path = argv[i] + 5;
        } else if (strncmp(argv[i], "rounds=", 7) == 0) {
            rounds = atoi(argv[i] + 7);
        } else if (strcmp(argv[i], "moves") == 0) {
            t.forms = MOVES;
        } else if (strcmp(argv[i], "persistent") == 0) {
            t.persistent = true;
        } else if (strncmp(argv[i], "seed=", 5) == 0) {
            t.common = strtoull(argv[i] + 5, NULL, 10);
            t.own = t.common + (uint64_t)h.rank * 1000;
        } else {
            run_part(&t, argv[i], rounds);
        }
    }
    if (path) {
        harness_check_path(&h, path, &counters);
    }
    paths_close(&counters);
    MPI_Comm_free(&t.world);
    return harness_finish(&h);
}
