/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 13: device memory that was allocated before MPI_Init is known for what it is: the device is asked, nothing is hooked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpufifo/device.h"

enum { COUNT = 5000 };

static void need(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "case_13_before_init: %s: %s\n", what, gpufifo_error());
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static double numbers[COUNT];
    gpufifo_device *device;
    void *send, *recv;
    int rank, ranks;
    long wrong = 0;

    need(gpufifo_device_open(NULL, -1, &device), "no device");
    need(gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, sizeof numbers, &send), "alloc");
    need(gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, sizeof numbers, &recv), "alloc");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = rank + i;
    }
    need(gpufifo_copy(device, send, numbers, sizeof numbers), "copy");
    MPI_Allreduce(send, recv, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    need(gpufifo_copy(device, numbers, recv, sizeof numbers), "copy");
    for (int i = 0; i < COUNT; i++) {
        wrong += numbers[i] != ranks * (ranks - 1) / 2 + (double)ranks * i;
    }
    if (wrong) {
        fprintf(stderr, "case_13_before_init: rank %d: %ld numbers are wrong\n", rank, wrong);
    }
    MPI_Finalize();
    need(gpufifo_free(device, send), "free after MPI_Finalize");
    need(gpufifo_free(device, recv), "free after MPI_Finalize");
    gpufifo_device_close(device);
    return wrong ? 1 : 0;
}
