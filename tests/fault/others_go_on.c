/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank dies between two collectives: the others get an error from the next one, and go on, right, on a communicator of their
 * own. For mpirun with --enable-recovery.
 *
 * Usage: others_go_on RANK COUNT      rank RANK kills itself after some allreduces of COUNT numbers
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/harness.h"

enum { BEFORE = 5, AFTER = 20 };

struct job {
    struct harness h;
    MPI_Comm others;           /* all but the victim */
    struct buffer send, recv;
    int *values;               /* [count] */
    int count;
};

/* One allreduce of numbers that tell calls and ranks apart; what it returns. */
static int reduce(struct job *job, MPI_Comm comm, int call)
{
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < job->count; i++) {
        job->values[i] = (rank + 1) * (i % 1000 + call);
    }
    buffer_write(&job->send, job->values);
    int result = MPI_Allreduce(job->send.data, job->recv.data, job->count, MPI_INT, MPI_SUM, comm);

    buffer_read(&job->recv, job->values);
    for (int i = 0; i < job->count && result == MPI_SUCCESS; i++) {
        if (!harness_check(&job->h, job->values[i] == ranks * (ranks + 1) / 2 * (i % 1000 + call), "call %d: element %d is %d",
                           call, i, job->values[i])) {
            break;
        }
    }
    return result;
}

/* To the next of the others, from the previous one. */
static void pass_on(struct job *job, int call)
{
    int rank, ranks;

    MPI_Comm_rank(job->others, &rank);
    MPI_Comm_size(job->others, &ranks);
    int previous = (rank + ranks - 1) % ranks;

    for (int i = 0; i < job->count; i++) {
        job->values[i] = rank * 1000 + call + i;
    }
    buffer_write(&job->send, job->values);
    MPI_Sendrecv(job->send.data, job->count, MPI_INT, (rank + 1) % ranks, 0, job->recv.data, job->count, MPI_INT, previous, 0,
                 job->others, MPI_STATUS_IGNORE);
    buffer_read(&job->recv, job->values);
    for (int i = 0; i < job->count; i++) {
        if (!harness_check(&job->h, job->values[i] == previous * 1000 + call + i, "message %d: element %d is %d", call, i,
                           job->values[i])) {
            break;
        }
    }
}

int main(int argc, char **argv)
{
    struct job job;
    int result = MPI_SUCCESS;

    if (argc != 3) {
        fprintf(stderr, "usage: others_go_on RANK COUNT\n");
        return 2;
    }
    int victim = atoi(argv[1]);
    size_t bytes = (size_t)atoi(argv[2]) * sizeof(int);

    job.count = atoi(argv[2]);
    harness_start(&job.h, argc, argv, MPI_THREAD_SINGLE);
    job.values = host_alloc(&job.h, bytes);
    buffer_create(&job.h, &job.send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    buffer_create(&job.h, &job.recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    MPI_Comm_split(MPI_COMM_WORLD, job.h.rank == victim ? MPI_UNDEFINED : 0, job.h.rank, &job.others);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int call = 0; call < BEFORE; call++) {
        harness_check(&job.h, reduce(&job, MPI_COMM_WORLD, call) == MPI_SUCCESS, "call %d failed", call);
        if (job.h.rank != victim) {
            reduce(&job, job.others, call);
            pass_on(&job, call);
        }
    }
    /* What it has sent has arrived. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.h.rank == victim) {
        kill(getpid(), SIGKILL);
    }
    while (result == MPI_SUCCESS) {
        result = reduce(&job, MPI_COMM_WORLD, BEFORE);
    }
    for (int call = 0; call < AFTER; call++) {
        harness_check(&job.h, reduce(&job, job.others, call) == MPI_SUCCESS, "call %d of the others failed", call);
        pass_on(&job, call);
    }
    printf("others_go_on: rank %d goes on without rank %d: %s\n", job.h.rank, victim, job.h.failures ? "wrong" : "right");
    fflush(stdout);
    /* With a rank that is gone MPI cannot be finalized; who leaves first ends the job. */
    MPI_Barrier(job.others);
    _exit(job.h.failures > 0);
}
