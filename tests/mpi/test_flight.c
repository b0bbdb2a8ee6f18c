/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Non-blocking collectives on device buffers that go on by themselves: whatever a program does between the call and the wait,
 * nothing of it waits for a rank that waits for it. Blocking calls set the communicators up first, for then they are native
 * (coll_gpufifo_mapped).
 *
 * Usage: test_flight [path=NAME] [seed=N] [rounds=N] PART...
 *   away      ranks enter one after the other, each told by a message of the one before, which waits for its device and frees
 *             memory in between; then all look for the result without MPI
 *   receive   each rank but the last, in a call already, receives a message that its peer sends before it enters
 *   crossed   calls in flight on two communicators, begun and ended in other orders by other ranks
 *   mixed     random sequences of calls in flight, of device and host buffers, and blocking ones between them
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/harness.h"

enum { COUNT = 1000, MANY = 12, RANKS_MOST = 16 };

struct test {
    struct harness *h;
    uint64_t common, own;          /* random: the same on all ranks, and this rank's */
    int value;                     /* of the next call */
};

/* One call under way: allgather where root is negative, else broadcast. */
struct flight {
    struct buffer send, recv;
    int root, value;
    MPI_Request request;
};

static unsigned draw(uint64_t *random, unsigned below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % below;
}

static int element(const struct flight *f, int rank, int i)
{
    return f->value * 100000 + rank * 5000 + i;
}

static void begin(struct test *t, MPI_Comm comm, enum gpufifo_memory kind, int root, struct flight *f)
{
    int numbers[COUNT], ranks = t->h->ranks, rank = t->h->rank;

    f->root = root;
    f->value = t->value++;
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = element(f, rank, i);
    }
    buffer_create(t->h, &f->send, kind, sizeof numbers, 0);
    buffer_create(t->h, &f->recv, kind, (size_t)ranks * sizeof numbers, 0);
    buffer_write(&f->send, numbers);
    if (root < 0) {
        MPI_Iallgather(f->send.data, COUNT, MPI_INT, f->recv.data, COUNT, MPI_INT, comm, &f->request);
    } else {
        MPI_Ibcast(f->send.data, COUNT, MPI_INT, root, comm, &f->request);
    }
}

static bool is_right(const struct flight *f, int ranks)
{
    static int got[RANKS_MOST * COUNT];
    int from = f->root < 0 ? 0 : f->root, to = f->root < 0 ? ranks : f->root + 1;

    buffer_read(f->root < 0 ? &f->recv : &f->send, got);
    for (int rank = from; rank < to; rank++) {
        for (int i = 0; i < COUNT; i++) {
            if (got[(rank - from) * COUNT + i] != element(f, rank, i)) {
                return false;
            }
        }
    }
    return true;
}

static void end(struct test *t, struct flight *f, const char *what)
{
    MPI_Wait(&f->request, MPI_STATUS_IGNORE);
    harness_check(t->h, is_right(f, t->h->ranks), "%s: the result is wrong", what);
    buffer_destroy(&f->send, what);
    buffer_destroy(&f->recv, what);
}

static void blocking(struct test *t, MPI_Comm comm)
{
    struct buffer buffer;

    buffer_create(t->h, &buffer, GPUFIFO_MEMORY_DEVICE, COUNT, 0);
    MPI_Bcast(buffer.data, COUNT, MPI_BYTE, 0, comm);
    buffer_destroy(&buffer, "a blocking call");
}

static void away(struct test *t)
{
    struct harness *h = t->h;
    struct flight f;
    void *other;

    if (h->rank > 0) {
        MPI_Recv(NULL, 0, MPI_INT, h->rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, 1 << 20, &other), "allocate");
    begin(t, MPI_COMM_WORLD, GPUFIFO_MEMORY_DEVICE, -1, &f);
    harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    harness_need(h, gpufifo_free(h->device, other), "free");
    if (h->rank + 1 < h->ranks) {
        MPI_Send(NULL, 0, MPI_INT, h->rank + 1, 1, MPI_COMM_WORLD);
    }
    while (!is_right(&f, h->ranks)) {
        harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    }
    end(t, &f, "away");
}

static void receive(struct test *t)
{
    struct harness *h = t->h;
    struct flight f[2];

    if (h->rank > 0) {
        MPI_Ssend(&h->rank, 1, MPI_INT, h->rank - 1, 2, MPI_COMM_WORLD);
    }
    begin(t, MPI_COMM_WORLD, GPUFIFO_MEMORY_DEVICE, -1, &f[0]);
    begin(t, MPI_COMM_WORLD, GPUFIFO_MEMORY_DEVICE, h->ranks - 1, &f[1]);
    if (h->rank + 1 < h->ranks) {
        int next;

        MPI_Recv(&next, 1, MPI_INT, h->rank + 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    end(t, &f[1], "receive");
    end(t, &f[0], "receive");
}

static void crossed(struct test *t)
{
    MPI_Comm comms[2] = { MPI_COMM_WORLD, MPI_COMM_NULL };
    struct flight f[2][3];
    int value = t->value + 100;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    blocking(t, comms[1]);
    for (int i = 0; i < 2; i++) {
        int c = (i + t->h->rank) % 2;

        t->value = value + 10 * c;
        for (int k = 0; k < 3; k++) {
            begin(t, comms[c], GPUFIFO_MEMORY_DEVICE, k - 1 < t->h->ranks ? k - 1 : 0, &f[c][k]);
        }
    }
    for (int k = 0; k < 6; k++) {
        int at = t->h->rank % 3 == 0 ? 5 - k : k;

        end(t, &f[at / 3][at % 3], "crossed");
    }
    MPI_Comm_free(&comms[1]);
    t->value = value + 100;
}

/* Each rank says for itself what memory it passes; who is slow to enter is slow by what it allocates. */
static void mixed(struct test *t, int rounds)
{
    struct flight f[MANY];

    for (int round = 0; round < rounds; round++) {
        int many = 1 + (int)draw(&t->common, MANY), all = (int)draw(&t->common, 3);

        for (int i = 0; i < many; i++) {
            bool device = all == 0 || draw(&t->own, 3) > 0;

            begin(t, MPI_COMM_WORLD, device ? GPUFIFO_MEMORY_DEVICE : GPUFIFO_MEMORY_HOST,
                  (int)draw(&t->common, (unsigned)t->h->ranks + 1) - 1, &f[i]);
            if (draw(&t->common, 8) == 0) {
                blocking(t, MPI_COMM_WORLD);
            }
        }
        for (int i = many; i-- > 0; ) {
            int other = (int)draw(&t->own, (unsigned)i + 1);
            struct flight last = f[i];

            f[i] = f[other];
            f[other] = last;
            end(t, &f[i], "mixed");
        }
    }
}

static void run_part(struct test *t, const char *part, int rounds)
{
    if (strcmp(part, "away") == 0) {
        away(t);
    } else if (strcmp(part, "receive") == 0) {
        receive(t);
    } else if (strcmp(part, "crossed") == 0) {
        crossed(t);
    } else if (strcmp(part, "mixed") == 0) {
        mixed(t, rounds);
    } else {
        harness_check(t->h, false, "there is no part \"%s\": away, receive, crossed, mixed", part);
    }
}

int main(int argc, char **argv)
{
    struct harness h;
    struct test t = { .h = &h, .common = 1, .own = 1 };
    struct paths_counters counters;
    const char *path = NULL;
    int rounds = 30;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= RANKS_MOST ? MPI_SUCCESS : MPI_ERR_ARG, "at most 16 ranks");
    t.own += (uint64_t)h.rank * 1000;
    paths_open(&counters);
    blocking(&t, MPI_COMM_WORLD);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "path=", 5) == 0) {
            path = argv[i] + 5;
        } else if (strncmp(argv[i], "rounds=", 7) == 0) {
            rounds = atoi(argv[i] + 7);
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
    return harness_finish(&h);
}
