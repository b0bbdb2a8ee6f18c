/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wrong buffer gives the MPI error, not a crash, and the program can go on.
 *
 * Usage: bad_input freed | null | outside | fatal      (fatal: a freed pointer under MPI_ERRORS_ARE_FATAL)
 */
#include <mpi.h>
#include <string.h>

#include "tests/mpi/harness.h"

enum { COUNT = 1000 };

static void check_good(struct harness *h)
{
    double numbers[COUNT];
    struct buffer data;
    long wrong = 0;

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = h->rank + i;
    }
    buffer_create(h, &data, GPUFIFO_MEMORY_DEVICE, sizeof numbers, 0);
    buffer_write(&data, numbers);
    int result = MPI_Allreduce(MPI_IN_PLACE, data.data, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    buffer_read(&data, numbers);
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != h->ranks * (h->ranks - 1) / 2 + (double)h->ranks * i;
    }
    harness_check(h, result == MPI_SUCCESS && wrong == 0, "after a wrong call a right one gives %d, %ld numbers are wrong",
                  result, wrong);
    buffer_destroy(&data, "good");
}

static void check_error(struct harness *h, const char *what, int result, int wanted)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(result, &class);
    harness_check(h, class == wanted, "%s: error class %d, not %d", what, class, wanted);
}

/* Every rank passes the same kind of wrong buffer, so that none of them waits for the others. The other buffer is device
 * memory. */
static void check_wrong(struct harness *h, const char *what, void *wrong, void *right)
{
    int result = MPI_Allreduce(wrong, right, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    check_error(h, what, result, MPI_ERR_BUFFER);
    result = MPI_Allreduce(right, wrong, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check_error(h, what, result, MPI_ERR_BUFFER);
}

/* Staged collectives with a null buffer beside one in device memory: refused on every rank before anything is sent. */
static void check_null_staged(struct harness *h, void *right)
{
    MPI_Request request;

    check_error(h, "null, allgather", MPI_Allgather(right, 1, MPI_INT, NULL, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    check_error(h, "null, alltoall", MPI_Alltoall(NULL, 1, MPI_INT, right, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    check_error(h, "null, scan", MPI_Scan(right, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    check_error(h, "null, reduce_local", MPI_Reduce_local(NULL, right, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    check_error(h, "null, iallreduce", MPI_Iallreduce(right, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request),
                MPI_ERR_BUFFER);
}

/* A collective that is always staged. Null is left out: there it is MPI_BOTTOM, which some types make a right address. */
static void check_wrong_bcast(struct harness *h, const char *what, void *wrong)
{
    check_error(h, what, MPI_Bcast(wrong, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct harness h;
    struct buffer gone, right;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    buffer_create(&h, &right, GPUFIFO_MEMORY_DEVICE, COUNT * sizeof(double), 0);
    buffer_create(&h, &gone, GPUFIFO_MEMORY_DEVICE, COUNT * sizeof(double), 0);
    check_good(&h);
    buffer_destroy(&gone, "gone");
    if (strcmp(how, "fatal") == 0) {
        MPI_Allreduce(gone.data, right.data, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return 0;      /* not reached: the runner wants another status */
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(how, "freed") == 0) {
        check_wrong(&h, "freed", gone.data, right.data);
        check_wrong_bcast(&h, "freed, broadcast", gone.data);
    } else if (strcmp(how, "null") == 0) {
        check_wrong(&h, "null", NULL, right.data);
        check_null_staged(&h, right.data);
    } else if (strcmp(how, "outside") == 0) {
        int result = MPI_Allreduce(right.data, right.block, 1 << 28, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        check_error(&h, "longer than its allocation", result, MPI_ERR_BUFFER);
        result = MPI_Bcast(right.data, 1 << 20, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        check_error(&h, "longer than its allocation, broadcast", result, MPI_ERR_BUFFER);
    } else {
        harness_check(&h, false, "say how: freed, null, outside or fatal");
    }
    check_good(&h);
    buffer_destroy(&right, "right");
    return harness_finish(&h);
}
