/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arguments, contents and expectations.
 */
#include "tests/mpi/flight_call.h"

#include <string.h>

#include "tests/mpi/stage_collectives.h"

static const char *const names[FORMS] = {
    "Bcast", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Gather", "Gatherv", "Scatter", "Scatterv",
    "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw",
    "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"
};

static bool to_each(enum form form)
{
    return (form >= IALLTOALL && form <= IALLTOALLW) || form == ISCATTER || form == ISCATTERV || form == IREDUCE_SCATTER ||
           form == IREDUCE_SCATTER_BLOCK || (form >= INEIGHBOR_ALLTOALL && form <= INEIGHBOR_ALLTOALLW);
}

static bool from_each(enum form form)
{
    return (form >= IALLGATHER && form <= IGATHERV) || (form >= INEIGHBOR_ALLGATHER && form <= INEIGHBOR_ALLTOALLW);
}

static int place(const struct flight *f, int rank)
{
    const bool reversed[FORMS] = {[IALLGATHERV] = true, [IALLTOALLV] = true, [IALLTOALLW] = true, [IGATHERV] = true,
                                  [ISCATTERV] = true, [INEIGHBOR_ALLGATHERV] = true, [INEIGHBOR_ALLTOALLV] = true,
                                  [INEIGHBOR_ALLTOALLW] = true};

    return reversed[f->form] ? f->ranks - 1 - rank : rank;
}

MPI_Comm flight_world(const struct harness *h)
{
    int all[RANKS_MOST] = {0}, weights[RANKS_MOST] = {0};
    MPI_Comm world;

    for (int r = 0; r < h->ranks; r++) {
        all[r] = r;
        weights[r] = 1;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h->ranks, all, weights, h->ranks, all, weights, MPI_INFO_NULL, 0, &world);
    return world;
}

unsigned flight_draw(uint64_t *random, unsigned below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % below;
}

/* What a rank has for another one; if it has the same for all, for rank 0. */
static int element(const struct flight *f, int from, int to, int i)
{
    return f->value % 100 * 1000000 + (from * RANKS_MOST + to) * COUNT + i;
}

static const struct stage_collective *find_collective(enum form form)
{
    const struct stage_collective *found = stage_collectives;

    while (strcmp(found->name, names[form]) != 0) {
        found++;
    }
    return found;
}

static struct stage_arguments arguments(struct flight *f, MPI_Comm comm)
{
    bool in_place = f->in_place && (f->form != IREDUCE || f->rank == f->root);
    int *displs = f->form == IALLTOALLW ? f->bytes : f->displs;

    return (struct stage_arguments){
        .comm = comm, .root = f->root, .op = MPI_SUM, .send = in_place ? MPI_IN_PLACE : f->send.data,
        .recv = f->form == IBCAST ? f->send.data : f->recv.data, .scount = COUNT, .rcount = COUNT, .stype = MPI_INT,
        .rtype = MPI_INT, .scounts = f->counts, .rcounts = f->counts, .sdispls = displs, .rdispls = displs,
        .sbytes = f->places, .rbytes = f->places, .stypes = f->types, .rtypes = f->types};
}

void flight_fill(struct flight *f, int value)
{
    static _Thread_local int numbers[RANKS_MOST * COUNT];
    int blocks = to_each(f->form) ? f->ranks : 1;

    f->value = value;
    for (int to = 0; to < blocks; to++) {
        for (int i = 0; i < COUNT; i++) {
            numbers[(blocks > 1 ? f->displs[to] : 0) + i] = element(f, f->rank, to, i);
        }
    }
    buffer_write(&f->send, numbers);
    if (f->in_place) {
        buffer_write(&f->recv, numbers);
    }
}

/* All but its start. */
void flight_prepare(struct test *t, MPI_Comm comm, enum gpufifo_memory kind, enum form form, int root, struct flight *f)
{
    int blocks = to_each(form) ? t->h->ranks : 1;

    *f = (struct flight){.form = form, .root = root, .value = t->value++, .ranks = t->h->ranks, .rank = t->h->rank};
    f->in_place = form >= MOVES && (f->value + f->value / FORMS) % 2 == 1;     /* each form is, and is not */
    f->persistent = t->persistent && find_collective(form)->persistent;
    for (int r = 0; r < f->ranks; r++) {
        f->counts[r] = COUNT;
        f->displs[r] = place(f, r) * COUNT;
        f->bytes[r] = f->displs[r] * (int)sizeof(int);
        f->places[r] = f->bytes[r];
        f->types[r] = MPI_INT;
    }
    buffer_create(t->h, &f->send, kind, (size_t)blocks * COUNT * sizeof(int), 0);
    buffer_create(t->h, &f->recv, kind, (size_t)(from_each(form) || form >= MOVES ? f->ranks : 1) * COUNT * sizeof(int), 0);
    flight_fill(f, f->value);
    if (f->persistent) {
        struct stage_arguments a = arguments(f, comm);

        find_collective(form)->persistent(&a, &f->request);
    }
}

/* Counts and displacements are gone when the call has returned, as with mpi4py. Open MPI itself needs the types until the end. */
void flight_start(struct flight *f, MPI_Comm comm)
{
    if (f->persistent) {
        MPI_Start(&f->request);
        return;
    }
    struct flight gone = *f;
    struct stage_arguments a = arguments(&gone, comm);

    a.stypes = a.rtypes = f->types;
    find_collective(f->form)->nonblocking(&a, &f->request);
    memset(gone.counts, 0x7f, sizeof gone.counts);
    memset(gone.displs, 0x7f, sizeof gone.displs);
    memset(gone.bytes, 0x7f, sizeof gone.bytes);
    memset(gone.places, 0x7f, sizeof gone.places);
}

void flight_begin(struct test *t, MPI_Comm comm, enum gpufifo_memory kind, enum form form, int root, struct flight *f)
{
    flight_prepare(t, comm, kind, form, root, f);
    flight_start(f, comm);
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

bool flight_is_right(const struct flight *f)
{
    static _Thread_local int got[RANKS_MOST * COUNT];
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

void flight_check(struct test *t, struct flight *f, const char *what)
{
    MPI_Wait(&f->request, MPI_STATUS_IGNORE);
    harness_check(t->h, flight_is_right(f), "%s: the result of %s is wrong", what, names[f->form]);
}

void flight_end(struct test *t, struct flight *f, const char *what)
{
    flight_check(t, f, what);
    if (f->persistent) {
        MPI_Request_free(&f->request);
    }
    buffer_destroy(&f->send, what);
    buffer_destroy(&f->recv, what);
}
