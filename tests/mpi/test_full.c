/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program has taken all of the device's memory before the first call: collectives and messages go by ways that need none.
 *
 * Usage: test_full [early]      (with a device of some MiB, which this takes)
 *   early    also a message that its receiver lets wait, which the sender can set aside
 */
#include <mpi.h>
#include <string.h>

#include "tests/mpi/harness.h"

enum { COUNT = 3000, MOST_TAKEN = 4096 };

/* So many bytes at a time until there are no more; returns how many allocations that makes. */
static int take(struct harness *h, void **taken, int already, size_t bytes)
{
    int count = already;

    while (count < MOST_TAKEN && gpufifo_alloc(h->device, GPUFIFO_MEMORY_DEVICE, bytes, &taken[count]) == 0) {
        count++;
    }
    return count;
}

static void check_allreduce(struct harness *h, struct buffer *data)
{
    int numbers[COUNT];
    long wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = h->rank + i;
    }
    buffer_write(data, numbers);
    int result = MPI_Allreduce(MPI_IN_PLACE, data->data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    buffer_read(data, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != h->ranks * (h->ranks - 1) / 2 + h->ranks * i;
    }
    harness_check(h, result == MPI_SUCCESS && wrong == 0, "allreduce gives %d, %ld numbers are wrong", result, wrong);
}

/* Rank 0's, in the places that the type has; is_data tells which these are, of its span. */
static void check_bcast(struct harness *h, struct buffer *data, const char *what, MPI_Datatype type, const char *is_data)
{
    int numbers[COUNT];
    long wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = h->rank * COUNT + i;
    }
    buffer_write(data, numbers);
    int result = MPI_Bcast(data->data, 1, type, 0, MPI_COMM_WORLD);
    buffer_read(data, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != (is_data[i] ? 0 : h->rank * COUNT) + i;
    }
    harness_check(h, result == MPI_SUCCESS && wrong == 0, "broadcast of %s gives %d, %ld numbers are wrong", what, result, wrong);
}

/* Round the ranks; data[1] is sent, data[0] received. */
static void check_messages(struct harness *h, struct buffer *data, const char *what, MPI_Datatype type, const char *is_data)
{
    int numbers[COUNT], next = (h->rank + 1) % h->ranks, previous = (h->rank + h->ranks - 1) % h->ranks;
    MPI_Request request;
    long wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = h->rank * COUNT + i;
    }
    buffer_write(&data[1], numbers);
    buffer_write(data, numbers);
    int result = MPI_Isend(data[1].data, 1, type, next, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    result |= MPI_Recv(data->data, 1, type, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    result |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffer_read(data, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != (is_data[i] ? previous : h->rank) * COUNT + i;
    }
    harness_check(h, result == MPI_SUCCESS && wrong == 0, "message of %s gives %d, %ld numbers are wrong", what, result, wrong);
}

/* A small message to a host buffer that waits for its receiver: the send returns before. */
static void check_early_message(struct harness *h, struct buffer *data)
{
    enum { EARLY = 50, GO = 1, DATA = 2 };
    int numbers[COUNT];
    long wrong = 0;

    if (h->rank == 0 && h->ranks > 1) {
        for (int i = 0; i < COUNT; i++) {
            numbers[i] = i;
        }
        buffer_write(data, numbers);
        MPI_Send(data->data, EARLY, MPI_INT, 1, DATA, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 1, GO, MPI_COMM_WORLD);
    } else if (h->rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(numbers, EARLY, MPI_INT, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < EARLY; i++) {
            wrong += numbers[i] != i;
        }
        harness_check(h, wrong == 0, "early message: %ld numbers are wrong", wrong);
    }
}

static void check_type(struct harness *h, struct buffer *data, const char *what, MPI_Datatype type, const char *is_data)
{
    MPI_Type_commit(&type);
    check_bcast(h, data, what, type, is_data);
    check_messages(h, data, what, type, is_data);
    MPI_Type_free(&type);
}

/* With gaps, one that is described by dimensions, one by a list; and without. */
static void check_types(struct harness *h, struct buffer *data)
{
    int lengths[COUNT / 8], places[COUNT / 8];
    char strided[COUNT] = {0}, listed[COUNT] = {0};
    MPI_Datatype type;

    for (int i = 0; i < COUNT; i += 4) {
        strided[i] = 1;
    }
    MPI_Type_vector(COUNT / 4, 1, 4, MPI_INT, &type);
    check_type(h, data, "a vector", type, strided);
    for (int i = 0; i < COUNT / 8; i++) {
        lengths[i] = 1 + i % 3;
        places[i] = 8 * i + i % 4;
        for (int j = 0; j < lengths[i]; j++) {
            listed[places[i] + j] = 1;
        }
    }
    MPI_Type_indexed(COUNT / 8, lengths, places, MPI_INT, &type);
    check_type(h, data, "a list of blocks", type, listed);
    memset(listed, 1, sizeof listed);
    MPI_Type_contiguous(COUNT, MPI_INT, &type);
    check_type(h, data, "one block", type, listed);
}

int main(int argc, char **argv)
{
    static void *taken[MOST_TAKEN];
    struct harness h;
    struct buffer data[2];
    int count = 0;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        buffer_create(&h, &data[i], GPUFIFO_MEMORY_DEVICE, COUNT * sizeof(int), 0);
    }
    for (size_t bytes = (size_t)1 << 30; bytes >= 1; bytes /= 4) {
        count = take(&h, taken, count, bytes);
    }
    harness_check(&h, count < MOST_TAKEN, "the device's memory is not full: set GPUFIFO_EMULATED=memory=16M");
    check_allreduce(&h, data);
    check_types(&h, data);
    if (argc > 1 && strcmp(argv[1], "early") == 0) {
        check_early_message(&h, data);
    }
    while (count > 0) {
        gpufifo_free(h.device, taken[--count]);
    }
    check_allreduce(&h, data);
    check_types(&h, data);
    buffer_destroy(&data[0], "received");
    buffer_destroy(&data[1], "sent");
    return harness_finish(&h);
}
