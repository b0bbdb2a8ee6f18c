/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpufifo/device.h: allocate, copy and free on whichever device is in use, a CUDA GPU or gpufifo's emulated device, so
 * that one program runs on both. MPI programs need nothing of this: they pass the device pointers they already have.
 *
 * Link with -lgpufifo. All functions may be called from any thread. Functions returning int give 0 on success and a
 * negative code otherwise; gpufifo_error() has the sentence.
 */
#ifndef GPUFIFO_DEVICE_H
#define GPUFIFO_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpufifo_device gpufifo_device;

/* Kinds of memory a program may hold. */
enum gpufifo_memory {
    GPUFIFO_MEMORY_HOST = 0,       /* pageable host memory, or memory that the device does not know */
    GPUFIFO_MEMORY_PINNED = 1,     /* host memory that the device reaches */
    GPUFIFO_MEMORY_MANAGED = 2,    /* migrates between host and device */
    GPUFIFO_MEMORY_DEVICE = 3,     /* only the device may touch it */
    GPUFIFO_MEMORY_INVALID = 4,    /* was device memory and is freed, or lies in the device's range but is not allocated */

    /* Device memory of other allocators than GPUFIFO_MEMORY_DEVICE's (cudaMalloc), for gpufifo_alloc; gpufifo_kind says
     * GPUFIFO_MEMORY_DEVICE of it. */
    GPUFIFO_MEMORY_VMM = 5,        /* virtual memory functions (cuMemCreate), exportable as a file descriptor */
    GPUFIFO_MEMORY_VMM_PRIVATE = 6,    /* the same, not exportable */
    GPUFIFO_MEMORY_POOL = 7        /* a stream-ordered pool (cudaMallocAsync) */
};

/* Opens the device. name: "cuda", "emulated", or null / "auto" for what the environment variables GPUFIFO_DEVICE or
 * OMPI_MCA_coll_gpufifo_device say, then CUDA where a GPU is; "auto" never picks the emulated device unasked.
 * ordinal: which GPU (0-based, as CUDA_VISIBLE_DEVICES numbers them), or -1 for the calling thread's current one, else 0.
 * On failure *device is null. Close what you opened; the memory stays valid until it is freed. */
int gpufifo_device_open(const char *name, int ordinal, gpufifo_device **device);
void gpufifo_device_close(gpufifo_device *device);

/* "cuda" or "emulated"; valid for ever. */
const char *gpufifo_device_name(const gpufifo_device *device);

/* Memory of one of the kinds above except INVALID, on the emulated device too, whose rules of sharing are a GPU's; bytes may be
 * 0 (the pointer is then null). Free it by gpufifo_free with any kind. Contents are undefined at first. */
int gpufifo_alloc(gpufifo_device *device, enum gpufifo_memory kind, size_t bytes, void **pointer);
int gpufifo_free(gpufifo_device *device, void *pointer);

/* Copies between any two kinds of memory, or fills; finished on return. */
int gpufifo_copy(gpufifo_device *device, void *to, const void *from, size_t bytes);
int gpufifo_fill(gpufifo_device *device, void *to, int byte, size_t bytes);

/* Waits for all work of this device in this process, as cudaDeviceSynchronize does. */
int gpufifo_synchronize(gpufifo_device *device);

/* What the device says about an address. */
enum gpufifo_memory gpufifo_kind(gpufifo_device *device, const void *pointer);

/* Runs function(arguments) as the device would run a kernel, one that fills it: only there may device memory be touched, through
 * gpufifo_kernel_address. Emulated device only (on CUDA use your own kernels: returns an error). Finished on return. */
int gpufifo_run(gpufifo_device *device, void (*function)(void *arguments), void *arguments);

/* The address under which code that runs on the device reaches this memory. On CUDA: the same. */
void *gpufifo_kernel_address(gpufifo_device *device, const void *pointer);

/* Why the calling thread's last failed call failed; never null; valid until its next failed call. */
const char *gpufifo_error(void);

#ifdef __cplusplus
}
#endif

#endif
