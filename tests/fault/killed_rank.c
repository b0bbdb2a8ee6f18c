/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 24: one rank is killed in the middle of a collective. killed.sh looks at how the others end.
 *
 * Usage: killed_rank RANK CALLS COUNT     rank RANK kills itself after CALLS allreduces of COUNT floats; the others go on calling
 *        killed_rank RANK CALLS COUNT messages    the same with messages from rank 0 to rank 1
 *        killed_rank none CALLS COUNT     none does; each says when it has made CALLS, and goes on until the job is ended
 */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/harness.h"

int main(int argc, char **argv)
{
    struct harness h;
    struct buffer send, recv;

    if (argc < 4 || argc > 5 || (argc == 5 && strcmp(argv[4], "messages") != 0)) {
        fprintf(stderr, "usage: killed_rank RANK|none CALLS COUNT [messages]\n");
        return 2;
    }
    bool nobody = strcmp(argv[1], "none") == 0;
    int victim = atoi(argv[1]), calls = atoi(argv[2]), count = atoi(argv[3]);

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    buffer_create(&h, &send, GPUFIFO_MEMORY_DEVICE, count * sizeof(float), 0);
    buffer_create(&h, &recv, GPUFIFO_MEMORY_DEVICE, count * sizeof(float), 0);
    printf("killed_rank: rank %d is process %d\n", h.rank, (int)getpid());
    fflush(stdout);
    for (int call = 0; ; call++) {
        if (call == calls && nobody) {
            printf("killed_rank: rank %d has made %d calls\n", h.rank, calls);
            fflush(stdout);
        } else if (call == calls && h.rank == victim) {
            kill(getpid(), SIGKILL);
        }
        if (argc == 4) {
            MPI_Allreduce(send.data, recv.data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        } else if (h.rank == 0) {
            MPI_Send(send.data, count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(recv.data, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}
