/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 20: however a program leaves the device before MPI_Finalize, it ends cleanly.
 *
 * Usage: case_20_end close   memory freed and device closed before MPI_Finalize
 *        case_20_end leak    nothing freed, nothing closed
 *        case_20_end comm    a duplicated communicator that was used is never freed
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "gpufifo/device.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "close";
    gpufifo_device *device;
    MPI_Comm comm = MPI_COMM_WORLD;
    void *data;
    int rank, ranks, number;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    number = rank;
    if (gpufifo_device_open(NULL, -1, &device) || gpufifo_alloc(device, GPUFIFO_MEMORY_DEVICE, sizeof number, &data) ||
        gpufifo_copy(device, data, &number, sizeof number)) {
        fprintf(stderr, "case_20_end: %s\n", gpufifo_error());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (strcmp(how, "comm") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, comm);
    gpufifo_copy(device, &number, data, sizeof number);
    if (strcmp(how, "close") == 0) {
        gpufifo_free(device, data);
        gpufifo_device_close(device);
    }
    MPI_Finalize();
    return number == ranks * (ranks - 1) / 2 ? 0 : 1;
}
