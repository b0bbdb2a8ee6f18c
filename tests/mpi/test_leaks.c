/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process holds does not grow with its calls, nor with its communicators.
 *
 * Usage: test_leaks [calls=N] [communicators=N]
 * calls: so many collectives of all kinds in all forms, in buffers that come and go. communicators: so many that are made and
 * duplicated, with device buffers on each. What is held after some of them must do for the others. Open MPI's own components keep
 * some memory a call: the same calls on host buffers tell how much.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/resources.h"
#include "tests/mpi/stage_collectives.h"

enum {
    PEERS = 16, ELEMENTS = 5,              /* an element: two ints with a gap, or without */
    ROUNDS_OF_BUFFERS = 16,
    FEWER = 5                              /* first, and on host buffers */
};

/* Peers keep some mappings of buffers that were freed, and malloc may need more at one time than at another. A leak a call would
 * be thousands. */
static const struct resources few = {.descriptors = 8, .mappings = 100, .heap = 100000, .device_pieces = 8};

struct arrays {
    int counts[PEERS], displs[PEERS];
    MPI_Aint bytes[PEERS];
    MPI_Datatype types[PEERS];
};

static MPI_Datatype make_pair(bool gap)
{
    MPI_Datatype type;

    MPI_Type_vector(2, 1, gap ? 2 : 1, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lower, extent;

    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

/* The same for all functions; each takes what it knows. Displacements in elements and in bytes are far enough apart in both. */
static struct stage_arguments make_arguments(struct arrays *arrays, MPI_Datatype type, bool reduces)
{
    for (int i = 0; i < PEERS; i++) {
        arrays->counts[i] = ELEMENTS;
        arrays->displs[i] = i * ELEMENTS * (int)extent_of(type);
        arrays->bytes[i] = arrays->displs[i];
        arrays->types[i] = type;
    }
    return (struct stage_arguments){
        .op = MPI_SUM, .scount = ELEMENTS, .rcount = ELEMENTS, .stype = type, .rtype = reduces ? MPI_INT : type,
        .scounts = arrays->counts, .sdispls = arrays->displs, .rcounts = arrays->counts, .rdispls = arrays->displs,
        .sbytes = arrays->bytes, .rbytes = arrays->bytes, .stypes = arrays->types, .rtypes = arrays->types,
    };
}

/* Of its three forms, by number; a form that this MPI does not have is another one. */
static void call(const struct stage_collective *collective, const struct stage_arguments *arguments, int form)
{
    MPI_Request request;

    if (form == 0 || (form == 2 && !collective->persistent)) {
        collective->blocking(arguments);
    } else if (form == 1) {
        collective->nonblocking(arguments, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        collective->persistent(arguments, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
}

static MPI_Comm make_ring(const struct harness *h)
{
    int left = (h->rank + h->ranks - 1) % h->ranks, right = (h->rank + 1) % h->ranks, weight = 1;
    MPI_Comm ring;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0, &ring);
    return ring;
}

static void make_calls(struct harness *h, long calls, enum gpufifo_memory kind)
{
    MPI_Datatype types[] = {make_pair(false), make_pair(true)};
    size_t bytes = (size_t)(PEERS * ELEMENTS) * (size_t)(extent_of(types[1]) * extent_of(types[1]));
    struct buffer send = {.data = NULL}, recv;
    struct arrays arrays;
    MPI_Comm ring = make_ring(h);

    for (long i = 0; i < calls; i++) {
        const struct stage_collective *collective = &stage_collectives[(size_t)i % stage_collective_count];
        int form = (int)((size_t)i / stage_collective_count % 3);
        struct stage_arguments arguments = make_arguments(&arrays, types[i % 2], collective->reduces);

        if (i % ROUNDS_OF_BUFFERS == 0) {
            if (send.data) {
                buffer_destroy(&send, "send");
                buffer_destroy(&recv, "receive");
            }
            buffer_create(h, &send, kind, bytes, 0);
            buffer_create(h, &recv, kind, bytes, 0);
        }
        arguments.comm = collective->neighbours ? ring : MPI_COMM_WORLD;
        arguments.send = send.data;
        arguments.recv = recv.data;
        call(collective, &arguments, form);
    }
    buffer_destroy(&send, "send");
    buffer_destroy(&recv, "receive");
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    MPI_Comm_free(&ring);
}

static void use(MPI_Comm comm, struct buffer *send, struct buffer *recv)
{
    MPI_Request request;

    MPI_Alltoall(send->data, 1, MPI_INT, recv->data, 1, MPI_INT, comm);
    MPI_Ibcast(recv->data, 1, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(send->data, recv->data, 1, MPI_INT, MPI_SUM, comm);
}

/* No blocking call first: a thread sets up, and takes nothing along. Then a persistent one. */
static void use_later(const struct stage_collective *persistent, MPI_Comm comm, struct buffer *send, struct buffer *recv)
{
    struct stage_arguments arguments = {.comm = comm, .recv = recv->data, .rcount = 1, .rtype = MPI_INT};
    MPI_Request request;

    MPI_Ialltoall(send->data, 1, MPI_INT, recv->data, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int form = 0; form < 3; form++) {
        call(persistent, &arguments, form);
    }
}

static void make_communicators(struct harness *h, long communicators, enum gpufifo_memory kind)
{
    struct buffer send, recv;
    MPI_Comm comm, copy;

    buffer_create(h, &send, kind, PEERS * sizeof(int), 0);
    buffer_create(h, &recv, kind, PEERS * sizeof(int), 0);
    for (long i = 0; i < communicators; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? 0 : h->rank % 2, i % 2 ? h->rank : -h->rank, &comm);
        use(comm, &send, &recv);
        MPI_Comm_dup(comm, &copy);
        MPI_Comm_free(&comm);
        if (i % 2) {
            use(copy, &send, &recv);
        } else {
            use_later(&stage_collectives[0], copy, &send, &recv);      /* a broadcast */
        }
        MPI_Comm_free(&copy);
    }
    buffer_destroy(&send, "send");
    buffer_destroy(&recv, "receive");
}

static void check(struct harness *h, const char *what, long count, void (*make)(struct harness *, long, enum gpufifo_memory))
{
    struct resources at_first, after_host, after_device, host, device, allowed = few;

    make(h, count / FEWER, GPUFIFO_MEMORY_HOST);
    make(h, count / FEWER, GPUFIFO_MEMORY_DEVICE);
    at_first = resources_now(h);
    make(h, count / FEWER, GPUFIFO_MEMORY_HOST);
    after_host = resources_now(h);
    make(h, count, GPUFIFO_MEMORY_DEVICE);
    after_device = resources_now(h);
    host = resources_growth(&at_first, &after_host);
    device = resources_growth(&after_host, &after_device);
    allowed.heap += FEWER * host.heap;
    resources_check(h, &device, &allowed, what);
}

int main(int argc, char **argv)
{
    struct harness h;
    long calls = 0, communicators = 0;

    for (int i = 1; i < argc; i++) {
        calls = strncmp(argv[i], "calls=", 6) == 0 ? strtol(argv[i] + 6, NULL, 10) : calls;
        communicators = strncmp(argv[i], "communicators=", 14) == 0 ? strtol(argv[i] + 14, NULL, 10) : communicators;
    }
    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (calls > 0) {
        check(&h, "calls", calls, make_calls);
    }
    if (communicators > 0) {
        check(&h, "communicators", communicators, make_communicators);
    }
    return harness_finish(&h);
}
