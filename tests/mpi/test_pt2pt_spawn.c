/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages with device buffers between a job and the one that it spawns. Each process exchanges with all of the other side,
 * through the intercommunicator, and then with its neighbours in the communicator merged of both. Both also reduce.
 *   test_pt2pt_spawn CHILDREN
 *   test_pt2pt_spawn CHILDREN connected      spawns two jobs, which do the same with one another when the one has connected to
 *                                            the other
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG = 3 };

static const size_t sizes[] = {1, 67, 4096, 100001, 3 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* On an intercommunicator ranks of the two sides are told apart by 100. */
static unsigned seed_of(int rank, bool child, int i)
{
    return (unsigned)(rank + 100 * child + 7 * i);
}

/* message_byte takes the sender's rank of MPI_COMM_WORLD; here seeds tell senders apart, so all count as rank 0. */
static struct ends ends_of(struct harness *as_zero, enum gpufifo_memory from, enum gpufifo_memory to, const char *name)
{
    return (struct ends){.h = as_zero, .from = from, .to = to, .name = name};
}

static void exchange(const struct ends *e, MPI_Comm comm, int next, int previous, unsigned mine, unsigned theirs, size_t bytes)
{
    struct buffer from, to;
    MPI_Request request;
    MPI_Status status;

    message_create(e, &from, bytes, mine);
    landing_create(e, &to, bytes + 9);
    MPI_Isend(from.data, (int)bytes, MPI_BYTE, next, TAG, comm, &request);
    MPI_Probe(previous, TAG, comm, &status);
    status_check(e, &status, previous, TAG, bytes);
    MPI_Recv(to.data, (int)bytes + 9, MPI_BYTE, previous, MPI_ANY_TAG, comm, &status);
    status_check(e, &status, previous, TAG, bytes);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    landing_check(e, &to, bytes, 0, theirs);
    buffer_destroy(&from, e->name);
}

static void across(const struct ends *e, MPI_Comm inter, bool child)
{
    int rank, remote;

    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    for (int i = 0; i < SIZES; i++) {
        for (int peer = 0; peer < remote; peer++) {
            exchange(e, inter, peer, peer, seed_of(rank, child, i), seed_of(peer, !child, i), sizes[i]);
        }
    }
}

static void around(const struct ends *e, MPI_Comm merged)
{
    int rank, size;

    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    for (int i = 0; i < SIZES; i++) {
        int previous = (rank + size - 1) % size;

        exchange(e, merged, (rank + 1) % size, previous, seed_of(rank, false, i), seed_of(previous, false, i), sizes[i]);
    }
}

/* So many ranks add up what they have. */
static void reduce(struct harness *h, MPI_Comm comm, const char *what, int ranks)
{
    enum { COUNT = 5000 };
    static int numbers[COUNT];
    struct buffer from, to;
    long wrong = 0;
    int rank;

    MPI_Comm_rank(comm, &rank);
    buffer_create(h, &from, GPUFIFO_MEMORY_DEVICE, sizeof numbers, 0);
    buffer_create(h, &to, GPUFIFO_MEMORY_DEVICE, sizeof numbers, 0);
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = rank + i;
    }
    buffer_write(&from, numbers);
    MPI_Allreduce(from.data, to.data, COUNT, MPI_INT, MPI_SUM, comm);
    buffer_read(&to, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != ranks * (ranks - 1) / 2 + ranks * i;
    }
    harness_check(h, wrong == 0, "allreduce, %s: %ld numbers are wrong", what, wrong);
    buffer_destroy(&from, what);
    buffer_destroy(&to, what);
}

static void reduce_both(struct harness *h, MPI_Comm inter, MPI_Comm merged)
{
    int remote, all;

    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_size(merged, &all);
    reduce(h, inter, "of the other side", remote);
    reduce(h, merged, "of both sides", all);
}

static void all_ways(struct harness *h, MPI_Comm inter, bool child)
{
    static const enum gpufifo_memory kinds[] = {GPUFIFO_MEMORY_DEVICE, GPUFIFO_MEMORY_HOST};
    int rank = h->rank;
    MPI_Comm merged;

    MPI_Intercomm_merge(inter, child, &merged);
    h->rank = 0;
    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            struct ends apart = ends_of(h, kinds[from], kinds[to], "across");
            struct ends together = ends_of(h, kinds[from], kinds[to], "around");

            across(&apart, inter, child);
            around(&together, merged);
        }
    }
    h->rank = rank;
    reduce_both(h, inter, merged);
    MPI_Comm_free(&merged);
}

static void spawn(char *program, char **arguments, int children, MPI_Comm *inter)
{
    MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE);
}

/* Both sides come to know of the failures of either. */
static void part(struct harness *h, MPI_Comm *inter)
{
    int failures = (int)h->failures, result;

    MPI_Allreduce(&failures, &result, 1, MPI_INT, MPI_SUM, *inter);
    harness_check(h, result == 0, "the other job found %d failures", result);
    MPI_Comm_disconnect(inter);
}

/* The parent of two jobs hands the one's port to the other. */
static void introduce(struct harness *h, char **argv, int children)
{
    char *accepts[] = {argv[1], "accepts", NULL}, *connects[] = {argv[1], "connects", NULL}, port[MPI_MAX_PORT_NAME];
    MPI_Comm host, guest;

    spawn(argv[0], accepts, children, &host);
    spawn(argv[0], connects, children, &guest);
    if (h->rank == 0) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, TAG, host, MPI_STATUS_IGNORE);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, TAG, guest);
    }
    part(h, &host);
    part(h, &guest);
}

static void meet(struct harness *h, bool accepts, MPI_Comm parent)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;

    if (accepts) {
        if (h->rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Send(port, sizeof port, MPI_CHAR, 0, TAG, parent);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    } else {
        if (h->rank == 0) {
            MPI_Recv(port, sizeof port, MPI_CHAR, 0, TAG, parent, MPI_STATUS_IGNORE);
        }
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    }
    all_ways(h, inter, !accepts);
    part(h, &inter);
    part(h, &parent);
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 1;
    const char *role = argc > 2 ? argv[2] : "";
    struct harness h;
    MPI_Comm parent, inter;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    MPI_Comm_get_parent(&parent);
    if (strcmp(role, "connected") == 0) {
        introduce(&h, argv, children);
    } else if (role[0] != '\0') {
        meet(&h, strcmp(role, "accepts") == 0, parent);
    } else {
        inter = parent;
        if (parent == MPI_COMM_NULL) {
            spawn(argv[0], argv + 1, children, &inter);
        }
        all_ways(&h, inter, parent != MPI_COMM_NULL);
        part(&h, &inter);
    }
    return harness_finish(&h);
}
