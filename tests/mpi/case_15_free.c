/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 15: a buffer from which a peer has fetched a message is freed, and its memory is there at once for the next one, which
 * is so large that both would not fit.
 *
 * Usage: case_15_free BYTES      more than half of what the device has to give
 */
#include <mpi.h>
#include <stdlib.h>

#include "tests/mpi/harness.h"

enum { TAG = 15, ROUNDS = 5, MESSAGE = 4096 };

/* Only the start of the buffer is sent, but all of it is mapped. Synchronous: it is fetched, not set aside. */
static void send_and_free(struct harness *h, size_t bytes)
{
    void *large, *too_much;

    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &large), "alloc");
    if (harness_check(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &too_much) != 0, "two buffers fit")) {
        too_much = NULL;
    }
    harness_need(h, gpufifo_fill(h->device, large, 1, MESSAGE), "fill");
    MPI_Ssend(large, MESSAGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    harness_need(h, gpufifo_free(h->device, too_much), "free");
    harness_need(h, gpufifo_free(h->device, large), "free");
}

static void receive(struct harness *h)
{
    unsigned char last = 0;
    void *to;

    harness_need(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, MESSAGE, &to), "alloc");
    MPI_Recv(to, MESSAGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    harness_need(h, gpufifo_copy(h->device, &last, (char *)to + MESSAGE - 1, 1), "copy");
    harness_check(h, last == 1, "the message is wrong");
    harness_need(h, gpufifo_free(h->device, to), "free");
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (int round = 0; round < ROUNDS; round++) {
        if (h.rank == 0) {
            send_and_free(&h, bytes);
        } else if (h.rank == 1) {
            receive(&h);
        }
    }
    return harness_finish(&h);
}
