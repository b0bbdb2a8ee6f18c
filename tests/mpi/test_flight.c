/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Non-blocking collectives on device buffers that go on by themselves: whatever a program does between the call and the wait,
 * nothing of it waits for a rank that waits for it. Blocking calls set the communicators up first, for then they are native
 * (coll_gpufifo_mapped).
 *
 * Usage: test_flight [path=NAME] [seed=N] [rounds=N] [moves] PART...
 *   moves     without the reductions, in what follows
 *   away      each form: ranks enter one after the other, each told by a message of the one before, which waits for its device
 *             and frees memory in between; then all look for the result without MPI
 *   receive   each rank but the last, in calls of all forms already, receives a message that its peer sends before it enters
 *   crossed   calls in flight on two communicators, begun and ended in other orders by other ranks
 *   freed     the communicator is freed while a call is in flight, which lands or is staged after all
 *   mixed     random sequences of calls in flight, of device and host buffers, and blocking ones between them
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/harness.h"

enum { COUNT = 1000, MANY = 12, RANKS_MOST = 16 };

enum form {
    IBCAST, IALLGATHER, IALLGATHERV, IALLTOALL, IALLTOALLV, IALLTOALLW, IGATHER, IGATHERV, ISCATTER, ISCATTERV,
    IALLREDUCE, IREDUCE, IREDUCE_SCATTER, IREDUCE_SCATTER_BLOCK, ISCAN, IEXSCAN, FORMS,
    MOVES = IALLREDUCE                 /* those before move blocks, the others add */
};

struct test {
    struct harness *h;
    uint64_t common, own;          /* random: the same on all ranks, and this rank's */
    int value;                     /* of the next call */
    int forms;                     /* FORMS, or MOVES: the reductions are not tested */
};

/* One call under way. Those with displacements have their blocks in the reverse order of the ranks. */
struct flight {
    enum form form;
    int root, value, ranks, rank;
    bool in_place;                 /* of reductions, every second one */
    struct buffer send, recv;      /* a broadcast has the first only */
    int counts[RANKS_MOST], displs[RANKS_MOST], bytes[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
    MPI_Request request;
};

static bool to_each(enum form form)
{
    return (form >= IALLTOALL && form <= IALLTOALLW) || form == ISCATTER || form == ISCATTERV || form == IREDUCE_SCATTER ||
           form == IREDUCE_SCATTER_BLOCK;
}

static bool from_each(enum form form)
{
    return form >= IALLGATHER && form <= IGATHERV;
}

static int place(const struct flight *f, int rank)
{
    const bool reversed[FORMS] = {[IALLGATHERV] = true, [IALLTOALLV] = true, [IALLTOALLW] = true, [IGATHERV] = true,
                                  [ISCATTERV] = true};

    return reversed[f->form] ? f->ranks - 1 - rank : rank;
}

static unsigned draw(uint64_t *random, unsigned below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % below;
}

/* What a rank has for another one; if it has the same for all, for rank 0. */
static int element(const struct flight *f, int from, int to, int i)
{
    return f->value % 100 * 1000000 + (from * RANKS_MOST + to) * COUNT + i;
}

static void start_reduction(struct flight *f, MPI_Comm comm)
{
    void *send = f->in_place ? MPI_IN_PLACE : f->send.data, *recv = f->recv.data;
    MPI_Request *request = &f->request;

    switch (f->form) {
    case IALLREDUCE:
        MPI_Iallreduce(send, recv, COUNT, MPI_INT, MPI_SUM, comm, request);
        break;
    case IREDUCE:
        MPI_Ireduce(f->rank == f->root ? send : f->send.data, recv, COUNT, MPI_INT, MPI_SUM, f->root, comm, request);
        break;
    case IREDUCE_SCATTER:
        MPI_Ireduce_scatter(send, recv, f->counts, MPI_INT, MPI_SUM, comm, request);
        break;
    case IREDUCE_SCATTER_BLOCK:
        MPI_Ireduce_scatter_block(send, recv, COUNT, MPI_INT, MPI_SUM, comm, request);
        break;
    case ISCAN:
        MPI_Iscan(send, recv, COUNT, MPI_INT, MPI_SUM, comm, request);
        break;
    default:
        MPI_Iexscan(send, recv, COUNT, MPI_INT, MPI_SUM, comm, request);
    }
}

static void start(struct flight *f, MPI_Comm comm)
{
    void *send = f->send.data, *recv = f->recv.data;
    const int *n = f->counts, *at = f->displs, root = f->root;
    MPI_Request *request = &f->request;

    switch (f->form) {
    case IBCAST:
        MPI_Ibcast(send, COUNT, MPI_INT, root, comm, request);
        break;
    case IALLGATHER:
        MPI_Iallgather(send, COUNT, MPI_INT, recv, COUNT, MPI_INT, comm, request);
        break;
    case IALLGATHERV:
        MPI_Iallgatherv(send, COUNT, MPI_INT, recv, n, at, MPI_INT, comm, request);
        break;
    case IALLTOALL:
        MPI_Ialltoall(send, COUNT, MPI_INT, recv, COUNT, MPI_INT, comm, request);
        break;
    case IALLTOALLV:
        MPI_Ialltoallv(send, n, at, MPI_INT, recv, n, at, MPI_INT, comm, request);
        break;
    case IALLTOALLW:
        MPI_Ialltoallw(send, n, f->bytes, f->types, recv, n, f->bytes, f->types, comm, request);
        break;
    case IGATHER:
        MPI_Igather(send, COUNT, MPI_INT, recv, COUNT, MPI_INT, root, comm, request);
        break;
    case IGATHERV:
        MPI_Igatherv(send, COUNT, MPI_INT, recv, n, at, MPI_INT, root, comm, request);
        break;
    case ISCATTER:
        MPI_Iscatter(send, COUNT, MPI_INT, recv, COUNT, MPI_INT, root, comm, request);
        break;
    case ISCATTERV:
        MPI_Iscatterv(send, n, at, MPI_INT, recv, COUNT, MPI_INT, root, comm, request);
        break;
    default:
        start_reduction(f, comm);
    }
}

static void begin(struct test *t, MPI_Comm comm, enum gpufifo_memory kind, enum form form, int root, struct flight *f)
{
    static int numbers[RANKS_MOST * COUNT];
    int blocks = to_each(form) ? t->h->ranks : 1;

    *f = (struct flight){.form = form, .root = root, .value = t->value++, .ranks = t->h->ranks, .rank = t->h->rank};
    f->in_place = form >= MOVES && (f->value + f->value / FORMS) % 2 == 1;     /* each form is, and is not */
    for (int r = 0; r < f->ranks; r++) {
        f->counts[r] = COUNT;
        f->displs[r] = place(f, r) * COUNT;
        f->bytes[r] = f->displs[r] * (int)sizeof(int);
        f->types[r] = MPI_INT;
    }
    for (int to = 0; to < blocks; to++) {
        for (int i = 0; i < COUNT; i++) {
            numbers[(blocks > 1 ? f->displs[to] : 0) + i] = element(f, f->rank, to, i);
        }
    }
    buffer_create(t->h, &f->send, kind, (size_t)blocks * COUNT * sizeof(int), 0);
    buffer_create(t->h, &f->recv, kind, (size_t)(from_each(form) || form >= MOVES ? f->ranks : 1) * COUNT * sizeof(int), 0);
    buffer_write(&f->send, numbers);
    if (f->in_place) {
        buffer_write(&f->recv, numbers);
    }
    start(f, comm);
}

/* What it makes of the elements of all ranks, of those up to this one, or of those before. */
static int sum(const struct flight *f, int i)
{
    int ranks = f->form == ISCAN ? f->rank + 1 : f->form == IEXSCAN ? f->rank : f->ranks, all = 0;

    for (int from = 0; from < ranks; from++) {
        all += element(f, from, to_each(f->form) ? f->rank : 0, i);
    }
    return all;
}

static bool has_result(const struct flight *f)
{
    bool rooted = f->form == IGATHER || f->form == IGATHERV || f->form == IREDUCE;

    return (!rooted || f->rank == f->root) && (f->form != IEXSCAN || f->rank > 0);
}

static bool is_right(const struct flight *f)
{
    static int got[RANKS_MOST * COUNT];
    bool several = from_each(f->form);

    if (!has_result(f)) {
        return true;
    }
    buffer_read(f->form == IBCAST ? &f->send : &f->recv, got);
    for (int from = several ? 0 : f->root; from < (several ? f->ranks : f->root + 1); from++) {
        for (int i = 0; i < COUNT; i++) {
            int right = f->form >= MOVES ? sum(f, i) : element(f, from, to_each(f->form) ? f->rank : 0, i);

            if (got[(several ? f->displs[from] : 0) + i] != right) {
                return false;
            }
        }
    }
    return true;
}

static void end(struct test *t, struct flight *f, const char *what)
{
    MPI_Wait(&f->request, MPI_STATUS_IGNORE);
    harness_check(t->h, is_right(f), "%s: the result of form %d is wrong", what, (int)f->form);
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

static void away(struct test *t, enum form form)
{
    struct harness *h = t->h;
    struct flight f;
    void *other;

    if (h->rank > 0) {
        MPI_Recv(NULL, 0, MPI_INT, h->rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, 1 << 20, &other), "allocate");
    begin(t, MPI_COMM_WORLD, GPUFIFO_MEMORY_DEVICE, form, h->ranks / 2, &f);
    harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    harness_need(h, gpufifo_free(h->device, other), "free");
    if (h->rank + 1 < h->ranks) {
        MPI_Send(NULL, 0, MPI_INT, h->rank + 1, 1, MPI_COMM_WORLD);
    }
    while (!is_right(&f)) {
        harness_need(h, gpufifo_synchronize(h->device), "synchronize");
    }
    end(t, &f, "away");
}

static void receive(struct test *t)
{
    struct harness *h = t->h;
    struct flight f[FORMS];

    if (h->rank > 0) {
        MPI_Ssend(&h->rank, 1, MPI_INT, h->rank - 1, 2, MPI_COMM_WORLD);
    }
    for (int form = 0; form < t->forms; form++) {
        begin(t, MPI_COMM_WORLD, GPUFIFO_MEMORY_DEVICE, form, h->ranks - 1, &f[form]);
    }
    if (h->rank + 1 < h->ranks) {
        int next;

        MPI_Recv(&next, 1, MPI_INT, h->rank + 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int form = t->forms; form-- > 0;) {
        end(t, &f[form], "receive");
    }
}

static void crossed(struct test *t)
{
    MPI_Comm comms[2] = { MPI_COMM_WORLD, MPI_COMM_NULL };
    struct flight f[2][FORMS];
    int value = t->value + 100;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    blocking(t, comms[1]);
    for (int i = 0; i < 2; i++) {
        int c = (i + t->h->rank) % 2;

        t->value = value + FORMS * c;
        for (int form = 0; form < t->forms; form++) {
            begin(t, comms[c], GPUFIFO_MEMORY_DEVICE, form, form % t->h->ranks, &f[c][form]);
        }
    }
    for (int k = 0; k < 2 * t->forms; k++) {
        int at = t->h->rank % 3 == 0 ? 2 * t->forms - 1 - k : k;

        end(t, &f[at / t->forms][at % t->forms], "crossed");
    }
    MPI_Comm_free(&comms[1]);
    t->value = value + 100;
}

/* Its communicator may go before it has ended, also one that is staged after all. */
static void freed(struct test *t)
{
    for (int staged = 0; staged < 2; staged++) {
        bool host = staged && t->h->rank == 0;
        struct flight f;
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        blocking(t, comm);
        begin(t, comm, host ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE, IALLGATHER, 0, &f);
        MPI_Comm_free(&comm);
        end(t, &f, "freed");
    }
}

/* Each rank says for itself what memory it passes; who is slow to enter is slow by what it allocates. */
static void mixed(struct test *t, int rounds)
{
    struct flight f[MANY], *left[MANY];

    for (int round = 0; round < rounds; round++) {
        int many = 1 + (int)draw(&t->common, MANY), all = (int)draw(&t->common, 3);

        for (int i = 0; i < many; i++) {
            bool device = all == 0 || draw(&t->own, 3) > 0;
            enum form form = draw(&t->common, (unsigned)t->forms);

            begin(t, MPI_COMM_WORLD, device ? GPUFIFO_MEMORY_DEVICE : GPUFIFO_MEMORY_HOST, form,
                  (int)draw(&t->common, (unsigned)t->h->ranks), &f[i]);
            left[i] = &f[i];
            if (draw(&t->common, 8) == 0) {
                blocking(t, MPI_COMM_WORLD);
            }
        }
        for (int i = many; i-- > 0; ) {
            int other = (int)draw(&t->own, (unsigned)i + 1);
            struct flight *next = left[other];

            left[other] = left[i];
            end(t, next, "mixed");
        }
    }
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
    } else {
        harness_check(t->h, false, "there is no part \"%s\": away, receive, crossed, freed, mixed", part);
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
    blocking(&t, MPI_COMM_WORLD);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "path=", 5) == 0) {
            path = argv[i] + 5;
        } else if (strncmp(argv[i], "rounds=", 7) == 0) {
            rounds = atoi(argv[i] + 7);
        } else if (strcmp(argv[i], "moves") == 0) {
            t.forms = MOVES;
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
