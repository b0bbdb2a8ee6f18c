/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Case 17: no CUDA context before the first device buffer, and the caller's current context is the same after a call. The driver
 * is asked through its own functions, found at run time.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/harness.h"

/* What this needs of the driver interface. */
struct driver {
    int (*init)(unsigned flags);
    int (*context_state)(int device, unsigned *flags, int *active);
    int (*context_current)(void **context);
};

static void *function(void *library, const char *name)
{
    void *address = library ? dlsym(library, name) : NULL;

    if (!address) {
        fprintf(stderr, "case_17_context: the driver has no %s: this test needs a GPU\n", name);
        exit(2);
    }
    return address;
}

static struct driver driver_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    struct driver driver;

    *(void **)&driver.init = function(library, "cuInit");
    *(void **)&driver.context_state = function(library, "cuDevicePrimaryCtxGetState");
    *(void **)&driver.context_current = function(library, "cuCtxGetCurrent");
    driver.init(0);
    return driver;
}

static bool context_is_active(const struct driver *driver)
{
    unsigned flags = 0;
    int active = -1;

    driver->context_state(0, &flags, &active);
    return active != 0;
}

int main(int argc, char **argv)
{
    struct driver driver = driver_open();
    struct harness h = { .name = "case_17_context" };
    double mine = 1, all = 0;
    void *before = NULL, *after = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &h.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &h.ranks);
    harness_check(&h, !context_is_active(&driver), "MPI_Init made a context");
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    harness_check(&h, !context_is_active(&driver), "a collective on host buffers made a context");

    harness_need(&h, gpufifo_device_open(NULL, -1, &h.device), "no device");
    struct buffer data;
    buffer_create(&h, &data, GPUFIFO_MEMORY_DEVICE, sizeof mine, 0);
    buffer_write(&data, &mine);
    driver.context_current(&before);
    MPI_Allreduce(MPI_IN_PLACE, data.data, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    driver.context_current(&after);
    buffer_read(&data, &all);
    harness_check(&h, all == h.ranks, "the sum is %g", all);
    harness_check(&h, before == after, "the current context was %p and is %p", before, after);
    buffer_destroy(&data, "context");
    return harness_finish(&h);
}
