/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 15: a buffer from which a peer has fetched is freed, and its memory is there for the next one, which is so large that both
 * would not fit: soon, when the ranks are in MPI.
 *
 * Usage: case_15_free BYTES WHAT...      more than half of what the device has to give, and
 *     message      it is sent
 *     allreduce    MPI_Allreduce is called on it
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/harness.h"

enum { TAG = 15, ROUNDS = 5, MESSAGE = 4096, PATIENCE_SECONDS = 20 };

/* Makes progress until there is room. */
static void *alloc_soon(struct harness *h, size_t bytes)
{
    const time_t end = time(NULL) + PATIENCE_SECONDS;
    int flag, result;
    void *buffer;

    while ((result = gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &buffer)) != 0 && time(NULL) < end) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    harness_need(h, result, "the memory of the buffer before is not back: alloc");
    return buffer;
}

/* While it is there, no second one fits. */
static void free_the_only_one(struct harness *h, void *large, size_t bytes)
{
    void *too_much;

    if (harness_check(h, gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &too_much) != 0, "two buffers fit")) {
        too_much = NULL;
    }
    harness_need(h, gpufifo_free(h->device, too_much), "free");
    harness_need(h, gpufifo_free(h->device, large), "free");
}

/* Only the start of the buffer is sent, but all of it is mapped. Synchronous: it is fetched, not set aside. */
static void send(struct harness *h, void *buffer)
{
    harness_need(h, gpufifo_fill(h->device, buffer, 1, MESSAGE), "fill");
    MPI_Ssend(buffer, MESSAGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
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

static void check_message(struct harness *h, size_t bytes)
{
    if (h->rank == 0) {
        void *large = alloc_soon(h, bytes);

        send(h, large);
        free_the_only_one(h, large, bytes);
    } else if (h->rank == 1) {
        receive(h);
    }
}

/* All ranks come with such a buffer: who has one waits in MPI, so that the others get theirs. */
static void check_allreduce(struct harness *h, size_t bytes)
{
    int *large = alloc_soon(h, bytes);
    int first = 0;

    harness_need(h, gpufifo_fill(h->device, large, 0, MESSAGE), "fill");
    MPI_Barrier(MPI_COMM_WORLD);
    int result = MPI_Allreduce(MPI_IN_PLACE, large, MESSAGE / (int)sizeof *large, MPI_INT, MPI_BOR, MPI_COMM_WORLD);

    harness_check(h, result == MPI_SUCCESS, "MPI_Allreduce returned %d", result);
    harness_need(h, gpufifo_copy(h->device, &first, large, sizeof first), "copy");
    harness_check(h, first == 0, "the result is %d", first);
    free_the_only_one(h, large, bytes);
}

static void run_part(struct harness *h, const char *part, size_t bytes)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (strcmp(part, "message") == 0) {
            check_message(h, bytes);
        } else if (strcmp(part, "allreduce") == 0) {
            check_allreduce(h, bytes);
        } else {
            harness_check(h, false, "there is no part \"%s\": message, allreduce", part);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    for (int i = 2; i < argc; i++) {
        run_part(&h, argv[i], bytes);
    }
    return harness_finish(&h);
}
