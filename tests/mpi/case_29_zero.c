/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 29: a count of 0 works with any pointer: null, device memory, freed device memory, one past the end.
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <stdlib.h>

#include "tests/mpi/harness.h"

static void check_pointers(struct harness *h, const char *what, void *send, void *recv)
{
    int *zeros = calloc(h->ranks, sizeof *zeros);
    MPI_Request request;
    int results[] = {
        MPI_Allreduce(send, recv, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
        MPI_Allreduce(MPI_IN_PLACE, recv, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
        MPI_Reduce(send, recv, 0, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD),
        MPI_Bcast(recv, 0, MPI_INT, 0, MPI_COMM_WORLD),
        MPI_Allgather(send, 0, MPI_INT, recv, 0, MPI_INT, MPI_COMM_WORLD),
        MPI_Alltoall(send, 0, MPI_INT, recv, 0, MPI_INT, MPI_COMM_WORLD),
        MPI_Alltoallv(send, zeros, zeros, MPI_INT, recv, zeros, zeros, MPI_INT, MPI_COMM_WORLD),
        MPI_Gather(send, 0, MPI_INT, recv, 0, MPI_INT, 0, MPI_COMM_WORLD),
        MPI_Scan(send, recv, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
        MPI_Iallreduce(send, recv, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request),
    };

    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        harness_check(h, results[i] == MPI_SUCCESS, "%s: call %zu gives %d", what, i, results[i]);
    }
    free(zeros);
}

int main(int argc, char **argv)
{
    struct harness h;
    struct buffer a, b;
    float host[2];

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    buffer_create(&h, &a, GPUFIFO_MEMORY_DEVICE, 4096, 0);
    buffer_create(&h, &b, GPUFIFO_MEMORY_DEVICE, 4096, 0);
    check_pointers(&h, "null", NULL, NULL);
    check_pointers(&h, "device", a.data, b.data);
    check_pointers(&h, "null to device", NULL, b.data);
    check_pointers(&h, "device to null", a.data, NULL);
    check_pointers(&h, "host to device", &host[0], b.data);
    check_pointers(&h, "device to host", a.data, &host[1]);
    /* rank by rank another kind: nobody may wait for a rank that has nothing to do */
    check_pointers(&h, "mixed", h.rank % 2 ? NULL : a.data, h.rank % 3 ? b.data : NULL);
    buffer_destroy(&a, "zero");
    buffer_destroy(&b, "zero");
    check_pointers(&h, "freed", a.data, b.data);
    return harness_finish(&h);
}
