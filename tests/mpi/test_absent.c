/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank runs without the component, the others reduce in device memory with it: they must stage, for nobody there could ever
 * answer them. It has host buffers, as it must.
 *
 * Usage: test_absent RANK       which one; on communicators of all ranks, and of halves
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"

enum { COUNT = 3000, ROUNDS = 3 };

static void reduce(struct harness *h, MPI_Comm comm, enum gpufifo_memory kind, int round)
{
    int *values = host_alloc(h, COUNT * sizeof(int)), ranks, sum = 0, world = h->rank;
    int *all = host_alloc(h, (size_t)h->ranks * sizeof(int));
    struct buffer from, to;
    bool right = true;

    MPI_Comm_size(comm, &ranks);
    MPI_Allgather(&world, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < ranks; i++) {
        sum += all[i] + round;
    }
    for (int i = 0; i < COUNT; i++) {
        values[i] = h->rank + round;
    }
    buffer_create(h, &from, kind, COUNT * sizeof(int), 0);
    buffer_create(h, &to, kind, COUNT * sizeof(int), 0);
    buffer_write(&from, values);
    MPI_Allreduce(from.data, to.data, COUNT, MPI_INT, MPI_SUM, comm);
    buffer_read(&to, values);
    for (int i = 0; i < COUNT; i++) {
        right = right && values[i] == sum;
    }
    harness_check(h, right, "round %d of %d ranks: %d instead of %d", round, ranks, values[0], sum);
    buffer_destroy(&from, "from");
    buffer_destroy(&to, "to");
    free(all);
    free(values);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    enum gpufifo_memory kind = GPUFIFO_MEMORY_DEVICE;
    struct harness h;
    MPI_Comm half;

    if (argc > 1 && rank && strcmp(rank, argv[1]) == 0) {
        setenv("OMPI_MCA_coll", "^gpufifo", 1);
        kind = GPUFIFO_MEMORY_HOST;
    }
    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    MPI_Comm_split(MPI_COMM_WORLD, h.rank % 2, 0, &half);
    for (int round = 0; round < ROUNDS; round++) {
        reduce(&h, MPI_COMM_WORLD, kind, round);
        reduce(&h, half, kind, round);
    }
    MPI_Comm_free(&half);
    return harness_finish(&h);
}
