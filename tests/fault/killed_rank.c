/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 24: one rank is killed in the middle of an operation, or where coll_gpufifo_fault says. killed.sh and killed_stages.sh
 * look at how the others end.
 *
 * Usage: killed_rank RANK CALLS COUNT [WHAT]    rank RANK kills itself after CALLS calls with COUNT floats; the others go on
 *        killed_rank none CALLS COUNT [WHAT]    none does; each says so after every CALLS calls, until the job is ended
 *
 * WHAT: allreduces (or nothing), messages from rank 0 to rank 1, exchanges (MPI_Alltoall), or flights (MPI_Ialltoall).
 */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/harness.h"

/* The data of a rank: `count` floats for each rank in either buffer. */
struct data {
    const struct harness *harness;
    struct buffer send, recv;
    int count;
};

static void call_allreduce(const struct data *d)
{
    MPI_Allreduce(d->send.data, d->recv.data, d->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void send_message(const struct data *d)
{
    if (d->harness->rank == 0) {
        MPI_Send(d->send.data, d->count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(d->recv.data, d->count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void call_exchange(const struct data *d)
{
    MPI_Alltoall(d->send.data, d->count, MPI_FLOAT, d->recv.data, d->count, MPI_FLOAT, MPI_COMM_WORLD);
}

static void fly(const struct data *d)
{
    MPI_Request request;

    MPI_Ialltoall(d->send.data, d->count, MPI_FLOAT, d->recv.data, d->count, MPI_FLOAT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct kind {
    const char *name;
    void (*call)(const struct data *d);
    void (*before)(const struct data *d);        /* once, or null */
} kinds[] = {
    { "allreduces", call_allreduce, NULL }, { "messages", send_message, NULL }, { "exchanges", call_exchange, NULL },
    { "flights", fly, call_exchange },           /* which a blocking call sets up */
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct kind *find_kind(const char *name)
{
    int i = 0;

    while (i < KINDS && strcmp(kinds[i].name, name) != 0) {
        i++;
    }
    return i < KINDS ? &kinds[i] : NULL;
}

int main(int argc, char **argv)
{
    const struct kind *kind = argc == 4 || argc == 5 ? find_kind(argc == 5 ? argv[4] : "allreduces") : NULL;
    struct harness h;
    struct data d = { .harness = &h };

    if (!kind) {
        fprintf(stderr, "usage: killed_rank RANK|none CALLS COUNT [allreduces|messages|exchanges|flights]\n");
        return 2;
    }
    bool nobody = strcmp(argv[1], "none") == 0;
    int victim = atoi(argv[1]), calls = atoi(argv[2]);

    d.count = atoi(argv[3]);
    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);

    size_t bytes = (size_t)h.ranks * (size_t)d.count * sizeof(float);

    buffer_create(&h, &d.send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    buffer_create(&h, &d.recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    printf("killed_rank: rank %d is process %d\n", h.rank, (int)getpid());
    fflush(stdout);
    if (kind->before) {
        kind->before(&d);
    }
    for (int call = 0; ; call++) {
        if (nobody && calls > 0 && call > 0 && call % calls == 0) {
            printf("killed_rank: rank %d has made %d calls\n", h.rank, call);
            fflush(stdout);
        } else if (call == calls && h.rank == victim) {
            kill(getpid(), SIGKILL);
        }
        kind->call(&d);
    }
}
