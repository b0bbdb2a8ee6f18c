/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of blocks of 8 bytes at a stride of 64, in device memory at both ends: half a round trip, by size. Run with and
 * without coll_gpufifo_pack_bytes it tells from which size on packing on the device pays.
 *
 * Usage: pack_latency [most=BYTES of data]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/gpu/times.h"

enum { TAG = 3, ROUNDS = 30, WARM_UP = 5 };

static double half_round_trip(int rank, char *buffer, MPI_Datatype type)
{
    double times[ROUNDS];

    for (int i = -WARM_UP; i < ROUNDS; i++) {
        double start = MPI_Wtime();

        if (rank == 0) {
            MPI_Send(buffer, 1, type, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(buffer, 1, type, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, 1, type, 0, TAG, MPI_COMM_WORLD);
        }
        if (i >= 0) {
            times[i] = (MPI_Wtime() - start) / 2;
        }
    }
    return times_median(times, ROUNDS) * 1e6;
}

int main(int argc, char **argv)
{
    size_t most = argc > 1 && strncmp(argv[1], "most=", 5) == 0 ? strtoull(argv[1] + 5, NULL, 10) : 8 << 20;
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (size_t bytes = 512; bytes <= most && h.rank < 2 && h.ranks > 1; bytes *= 2) {
        MPI_Datatype type;
        struct buffer buffer;
        double time;

        MPI_Type_vector((int)(bytes / 8), 1, 8, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        buffer_create(&h, &buffer, GPUFIFO_MEMORY_DEVICE, bytes * 8, 0);
        time = half_round_trip(h.rank, buffer.data, type);
        if (h.rank == 0) {
            printf("%10zu bytes %12.1f us\n", bytes, time);
        }
        harness_check(&h, time > 0, "no time");
        buffer_destroy(&buffer, "message");
        MPI_Type_free(&type);
    }
    return harness_finish(&h);
}
