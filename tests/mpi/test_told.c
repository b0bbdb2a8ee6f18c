/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages and collectives for told.sh, which counts what the log says of them. Rank 0 sends to rank 1:
 *
 *   3 messages of 16 KiB, device to device; 2 from host to device; 1 of a type with gaps; MPI_Bcast of device memory, twice
 *
 * "host": the same, all in host memory. "forth", "back": before that, a synchronous one by rank 0 or 1. "many N": N allreduces of
 * device memory.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/pt2pt_buffers.h"

/* Messages are longer than those that a sender moves to host memory where the receiver is late. */
enum { TAG = 3, BYTES = 16384, ELEMENTS = 4096 };

static void message(struct harness *h, struct buffer *buffer, MPI_Datatype type, int count)
{
    if (h->rank == 0) {
        MPI_Send(buffer->data, count, type, 1, TAG, MPI_COMM_WORLD);
    } else if (h->rank == 1) {
        MPI_Recv(buffer->data, count, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Its sender returns once it was fetched, never because it was set aside. */
static void message_before(struct harness *h, int sender, struct buffer *buffer)
{
    if (h->rank == sender) {
        MPI_Ssend(buffer->data, BYTES, MPI_BYTE, 1 - sender, TAG, MPI_COMM_WORLD);
    } else if (h->rank == 1 - sender) {
        MPI_Recv(buffer->data, BYTES, MPI_BYTE, sender, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void few(struct harness *h, enum gpufifo_memory kind, const char *how)
{
    struct buffer device, mixed;
    MPI_Datatype gaps;

    buffer_create(h, &device, kind, BYTES, 0);
    buffer_create(h, &mixed, h->rank == 0 ? GPUFIFO_MEMORY_HOST : kind, BYTES, 0);
    MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (strcmp(how, "forth") == 0 || strcmp(how, "back") == 0) {
        message_before(h, how[0] == 'b', &device);
    }
    for (int i = 0; i < 3; i++) {
        message(h, &device, MPI_BYTE, BYTES);
    }
    for (int i = 0; i < 2; i++) {
        message(h, &mixed, MPI_BYTE, BYTES);
        MPI_Bcast(device.data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    message(h, &device, gaps, 1);
    MPI_Type_free(&gaps);
    harness_check(h, true, "done");
    buffer_destroy(&device, "few");
    buffer_destroy(&mixed, "few");
}

static void many(struct harness *h, int calls)
{
    struct buffer from, to;

    buffer_create(h, &from, GPUFIFO_MEMORY_DEVICE, BYTES, 0);
    buffer_create(h, &to, GPUFIFO_MEMORY_DEVICE, BYTES, 0);
    for (int i = 0; i < calls; i++) {
        MPI_Allreduce(from.data, to.data, ELEMENTS, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
    harness_check(h, true, "done");
    buffer_destroy(&from, "many");
    buffer_destroy(&to, "many");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct harness h;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    if (strcmp(how, "many") == 0) {
        many(&h, argc > 2 ? atoi(argv[2]) : 0);
    } else {
        few(&h, strcmp(how, "host") == 0 ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE, how);
    }
    return harness_finish(&h);
}
