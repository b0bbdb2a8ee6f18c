/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are through with a rooted call, in which they had host memory, and free its communicator before the others enter
 * it with device memory: these ask ranks that have it no more. Each root, communicators whose leader is the first rank or the
 * last one, new ones and such as have had native calls. Who has freed it goes on at once: to a communicator of its own of the
 * same number, or to one of all, for which it waits for those who ask, and which is as good as any other; or one of its ranks
 * makes one of the same number, size and leader with another.
 *
 * Usage: test_agree_freed PATH
 * PATH: that of a call for which all have device memory.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/paths.h"
#include "tests/mpi/harness.h"

enum { COUNT = 100, TAG_FREED = 1, TAG_GROUP = 2 };
enum kind { BCAST, SCATTER, GATHER, KINDS };

static const char *const names[KINDS] = {"MPI_Bcast", "MPI_Scatter", "MPI_Gather"};

struct step {
    enum kind kind;
    int root, seed;
    bool last_leads, used;            /* the communicator's leader; has it had native calls? */
    bool all_go_on;                   /* to a communicator of all, else each to one of its own */
};

/* A rank's memory: of one kind, room for a block of each rank. */
struct memory {
    struct buffer send, recv;
};

static int value(const struct step *step, int rank, int i) { return step->seed * 1000 + rank * 100 + i; }

static void call(struct memory *m, const struct step *step, MPI_Comm comm)
{
    switch (step->kind) {
    case BCAST: MPI_Bcast(m->send.data, COUNT, MPI_INT, step->root, comm); break;
    case SCATTER: MPI_Scatter(m->send.data, COUNT, MPI_INT, m->recv.data, COUNT, MPI_INT, step->root, comm); break;
    default: MPI_Gather(m->send.data, COUNT, MPI_INT, m->recv.data, COUNT, MPI_INT, step->root, comm); break;
    }
}

static void fill(struct harness *h, struct memory *m, const struct step *step, int rank)
{
    int *values = host_alloc(h, (size_t)h->ranks * COUNT * sizeof(int));

    for (int i = 0; i < h->ranks * COUNT; i++) {
        values[i] = step->kind == SCATTER ? value(step, i / COUNT, i % COUNT) : value(step, rank, i % COUNT);
    }
    buffer_write(&m->send, values);
    free(values);
}

/* What this rank has received. */
static void check(struct harness *h, struct memory *m, const struct step *step, int rank)
{
    bool root = rank == step->root;
    int blocks = step->kind == GATHER ? h->ranks : 1, wrong = 0;
    int *values = host_alloc(h, (size_t)h->ranks * COUNT * sizeof(int));

    if ((step->kind == GATHER) != root) {
        free(values);
        return;
    }
    buffer_read(step->kind == BCAST ? &m->send : &m->recv, values);
    for (int i = 0; i < blocks * COUNT; i++) {
        int from = step->kind == BCAST ? step->root : step->kind == SCATTER ? rank : i / COUNT;

        wrong += values[i] != value(step, from, i % COUNT);
    }
    harness_check(h, wrong == 0, "%s, root %d: %d numbers are wrong", names[step->kind], step->root, wrong);
    free(values);
}

/* Made while others are still in the one before, of which messages may be late. */
static void go_on(struct harness *h, struct memory *device, const struct step *step, const char *path)
{
    struct paths_counters counters;
    MPI_Comm comm;

    if (!step->all_go_on) {
        MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
        MPI_Comm_free(&comm);
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    paths_open(&counters);
    fill(h, device, step, h->rank);
    call(device, step, comm);
    check(h, device, step, h->rank);
    harness_check_path(h, path, &counters);
    paths_close(&counters);
    MPI_Comm_free(&comm);
}

/* Host and device memory; all, or all but the root. */
static void take(struct harness *h, struct memory *host, struct memory *device, const struct step *step, const char *path)
{
    int rank = step->last_leads ? h->ranks - 1 - h->rank : h->rank;
    bool leaves = (step->kind == GATHER) != (rank == step->root);
    struct memory *mine = leaves ? host : device;
    struct step before = *step;
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    for (before.seed = 0; step->used && before.seed < 2; before.seed++) {
        fill(h, device, &before, rank);
        call(device, &before, comm);
        check(h, device, &before, rank);
    }
    fill(h, mine, step, rank);
    for (int other = 0; other < h->ranks && !leaves; other++) {
        int there = step->last_leads ? h->ranks - 1 - other : other;

        if ((step->kind == GATHER) != (there == step->root)) {
            MPI_Recv(NULL, 0, MPI_INT, other, TAG_FREED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    call(mine, step, comm);
    check(h, mine, step, rank);
    MPI_Comm_free(&comm);
    for (int other = 0; other < h->ranks && leaves; other++) {
        int there = step->last_leads ? h->ranks - 1 - other : other;

        if ((step->kind == GATHER) == (there == step->root)) {
            MPI_Send(NULL, 0, MPI_INT, other, TAG_FREED, MPI_COMM_WORLD);
        }
    }
    go_on(h, device, step, path);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks 0 and 1 have a communicator, and while rank 1 is in a call of it ranks 0 and 2 have one of the same name. */
static void take_namesake(struct harness *h, struct memory *host, struct memory *device, int seed)
{
    const struct step step = {.kind = BCAST, .root = 0, .seed = seed};
    const int members[] = {0, 2};
    MPI_Comm pair, namesake;
    MPI_Group world, group;

    MPI_Comm_split(MPI_COMM_WORLD, h->rank >= 2, 0, &pair);
    if (h->rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, TAG_FREED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        call(device, &step, pair);
        check(h, device, &step, 1);
    } else if (h->rank == 0) {
        fill(h, host, &step, 0);
        call(host, &step, pair);
    }
    MPI_Comm_free(&pair);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, members, &group);
    if (h->rank == 0 || h->rank == 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG_GROUP, &namesake);
    }
    if (h->rank == 0) {
        MPI_Send(NULL, 0, MPI_INT, 1, TAG_FREED, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (h->rank == 0 || h->rank == 2) {
        MPI_Comm_free(&namesake);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void memory_create(struct harness *h, struct memory *m, enum gpufifo_memory kind)
{
    buffer_create(h, &m->send, kind, (size_t)h->ranks * COUNT * sizeof(int), 0);
    buffer_create(h, &m->recv, kind, (size_t)h->ranks * COUNT * sizeof(int), 0);
}

static void memory_destroy(struct memory *m)
{
    buffer_destroy(&m->send, "send");
    buffer_destroy(&m->recv, "recv");
}

int main(int argc, char **argv)
{
    struct harness h;
    struct memory host, device;
    const char *path = argc > 1 ? argv[1] : "exchange";
    int seed = 2;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    memory_create(&h, &host, GPUFIFO_MEMORY_HOST);
    memory_create(&h, &device, GPUFIFO_MEMORY_DEVICE);
    for (int way = 0; way < 8; way++) {
        for (int root = 0; root < h.ranks; root++) {
            for (int kind = 0; kind < KINDS; kind++) {
                take(&h, &host, &device, &(struct step){(enum kind)kind, root, seed++, way & 1, way & 2, way & 4}, path);
            }
        }
    }
    if (h.ranks > 2) {
        take_namesake(&h, &host, &device, seed);
    }
    memory_destroy(&host);
    memory_destroy(&device);
    return harness_finish(&h);
}
