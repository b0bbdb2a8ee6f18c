/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 20: however a program leaves the device before MPI_Finalize, it ends cleanly.
 *
 * Usage: case_20_end close   memory freed and device closed before MPI_Finalize
 *        case_20_end leak    nothing freed, nothing closed
 *        case_20_end comm    a duplicated communicator that was used is never freed
 *        case_20_end reset   cudaDeviceReset, by the driver's function: needs a GPU
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "gpufifo/device.h"

/* What cudaDeviceReset does. */
static int reset_device(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*reset)(int device) = NULL;

    if (library) {
        *(void **)&reset = dlsym(library, "cuDevicePrimaryCtxReset_v2");
    }
    return reset ? reset(0) : -1;
}

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
    if (strcmp(how, "reset") == 0 && reset_device() != 0) {
        fprintf(stderr, "case_20_end: the device cannot be reset: this needs a GPU\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return number == ranks * (ranks - 1) / 2 ? 0 : 1;
}
