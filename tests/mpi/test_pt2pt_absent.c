/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 runs without the component: it must never see an RTS. The others exchange messages in device memory with it, and with
 * one another. Rank 0 has host buffers, as it must.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

enum { TAG = 5 };

static const size_t sizes[] = {1, 66, 67, 68, 5000, 300000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    enum gpufifo_memory kind = GPUFIFO_MEMORY_DEVICE;
    struct harness h;

    if (rank && strcmp(rank, "0") == 0) {
        setenv("OMPI_MCA_coll", "^gpufifo", 1);
        kind = GPUFIFO_MEMORY_HOST;
    }
    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    struct ends ends = {.h = &h, .from = kind, .to = kind, .next = (h.rank + 1) % h.ranks,
                        .previous = (h.rank + h.ranks - 1) % h.ranks, .name = "absent"};

    for (int i = 0; i < SIZES; i++) {
        struct buffer from, to;
        MPI_Request send;
        MPI_Status status;

        message_create(&ends, &from, sizes[i], i);
        landing_create(&ends, &to, sizes[i] + 200);
        MPI_Isend(from.data, (int)sizes[i], MPI_BYTE, ends.next, TAG, MPI_COMM_WORLD, &send);
        MPI_Recv(to.data, (int)to.bytes, MPI_BYTE, ends.previous, TAG, MPI_COMM_WORLD, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        status_check(&ends, &status, ends.previous, TAG, sizes[i]);
        landing_check(&ends, &to, sizes[i], ends.previous, i);
        buffer_destroy(&from, ends.name);
    }
    return harness_finish(&h);
}
