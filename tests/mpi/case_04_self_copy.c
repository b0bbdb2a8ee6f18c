/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 4: collectives that copy a rank's own part, on device memory: gather, scatter, allgather and alltoall with their v,
 * in-place and non-blocking forms. One rank alone is nothing but own parts.
 */
#include <mpi.h>
#include <stdlib.h>

#include "tests/mpi/harness.h"

enum { PART = 300 };

/* Element i of what rank `from` has for rank `to`. */
static int number(int from, int to, int i)
{
    return from * 1000000 + to * 1000 + i;
}

struct parts {
    struct buffer send, recv;          /* ranks × PART ints each */
    int *counts, *places, *host;
    size_t ints;
};

static void parts_create(struct harness *h, struct parts *p, bool in_place)
{
    p->ints = (size_t)h->ranks * PART;
    p->counts = host_alloc(h, h->ranks * sizeof(int));
    p->places = host_alloc(h, h->ranks * sizeof(int));
    p->host = host_alloc(h, p->ints * sizeof(int));
    for (int rank = 0; rank < h->ranks; rank++) {
        p->counts[rank] = PART;
        p->places[rank] = rank * PART;
        for (int i = 0; i < PART; i++) {
            p->host[rank * PART + i] = number(h->rank, rank, i);
        }
    }
    buffer_create(h, &p->send, GPUFIFO_MEMORY_DEVICE, p->ints * sizeof(int), 0);
    buffer_create(h, &p->recv, GPUFIFO_MEMORY_DEVICE, p->ints * sizeof(int), 0);
    buffer_write(in_place ? &p->recv : &p->send, p->host);
}

/* Part q of what was received must be what rank q had for `to`. */
static void parts_check(struct harness *h, struct parts *p, const char *what, int parts, int first, int to)
{
    long wrong = 0;

    buffer_read(&p->recv, p->host);
    for (int q = 0; q < parts; q++) {
        for (int i = 0; i < PART; i++) {
            wrong += p->host[q * PART + i] != number(first + q, to, i);
        }
    }
    harness_check(h, wrong == 0, "%s: %ld numbers are wrong", what, wrong);
    buffer_destroy(&p->send, what);
    buffer_destroy(&p->recv, what);
    free(p->counts);
    free(p->places);
    free(p->host);
}

static void check_alltoall(struct harness *h)
{
    struct parts p;
    MPI_Request request;

    parts_create(h, &p, false);
    MPI_Alltoall(p.send.data, PART, MPI_INT, p.recv.data, PART, MPI_INT, MPI_COMM_WORLD);
    parts_check(h, &p, "alltoall", h->ranks, 0, h->rank);

    parts_create(h, &p, true);
    MPI_Alltoall(MPI_IN_PLACE, PART, MPI_INT, p.recv.data, PART, MPI_INT, MPI_COMM_WORLD);
    parts_check(h, &p, "alltoall in place", h->ranks, 0, h->rank);

    parts_create(h, &p, false);
    MPI_Alltoallv(p.send.data, p.counts, p.places, MPI_INT, p.recv.data, p.counts, p.places, MPI_INT, MPI_COMM_WORLD);
    parts_check(h, &p, "alltoallv", h->ranks, 0, h->rank);

    parts_create(h, &p, false);
    MPI_Ialltoall(p.send.data, PART, MPI_INT, p.recv.data, PART, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    parts_check(h, &p, "ialltoall", h->ranks, 0, h->rank);
}

static void check_gather(struct harness *h)
{
    struct parts p;
    int root = h->ranks - 1, parts = h->rank == root ? h->ranks : 0;

    /* each sends the part that it has for rank 0: the first */
    parts_create(h, &p, false);
    MPI_Gather(p.send.data, PART, MPI_INT, p.recv.data, PART, MPI_INT, root, MPI_COMM_WORLD);
    parts_check(h, &p, "gather", parts, 0, 0);

    parts_create(h, &p, false);
    MPI_Gatherv(p.send.data, PART, MPI_INT, p.recv.data, p.counts, p.places, MPI_INT, root, MPI_COMM_WORLD);
    parts_check(h, &p, "gatherv", parts, 0, 0);

    parts_create(h, &p, false);
    MPI_Allgather(p.send.data, PART, MPI_INT, p.recv.data, PART, MPI_INT, MPI_COMM_WORLD);
    parts_check(h, &p, "allgather", h->ranks, 0, 0);

    parts_create(h, &p, false);
    MPI_Allgatherv(p.send.data, PART, MPI_INT, p.recv.data, p.counts, p.places, MPI_INT, MPI_COMM_WORLD);
    parts_check(h, &p, "allgatherv", h->ranks, 0, 0);
}

static void check_scatter(struct harness *h)
{
    struct parts p;
    int root = h->ranks - 1;

    parts_create(h, &p, false);
    MPI_Scatter(p.send.data, PART, MPI_INT, p.recv.data, PART, MPI_INT, root, MPI_COMM_WORLD);
    parts_check(h, &p, "scatter", 1, root, h->rank);

    parts_create(h, &p, false);
    MPI_Scatterv(p.send.data, p.counts, p.places, MPI_INT, p.recv.data, PART, MPI_INT, root, MPI_COMM_WORLD);
    parts_check(h, &p, "scatterv", 1, root, h->rank);
}

int main(int argc, char **argv)
{
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    check_alltoall(&h);
    check_gather(&h);
    check_scatter(&h);
    return harness_finish(&h);
}
