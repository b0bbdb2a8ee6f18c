/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of test_cuda_device share: checks that are counted over all processes, the driver functions that the *program*
 * would call, and memory of every kind that a program may pass.
 */
#ifndef GF_TESTS_GPU_TEST_H
#define GF_TESTS_GPU_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>

#include "device/device.h"

/* Counts one check, of whatever process; says what is wrong if it fails. Returns ok. */
bool gpu_check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define CHECK(condition) gpu_check(condition, "%s:%d: %s", __FILE__, __LINE__, #condition)
#define CHECK_OK(status, why) gpu_check((status) == GF_OK, "%s:%d: %s: %s", __FILE__, __LINE__, #status, (why).text)

/* The driver's functions for the program's own doings, by their exact names. */
#define GPU_APP_FUNCTIONS(F)                                                                                 \
    F(cuInit) F(cuCtxGetCurrent) F(cuCtxSetCurrent) F(cuCtxDestroy_v2) F(cuCtxPopCurrent_v2)                 \
    F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxReset_v2) F(cuMemAlloc_v2) F(cuMemFree_v2)               \
    F(cuMemAllocAsync) F(cuMemFreeAsync) F(cuMemHostAlloc) F(cuMemFreeHost) F(cuMemCreate) F(cuMemRelease)   \
    F(cuMemAddressReserve) F(cuMemAddressFree) F(cuMemMap) F(cuMemUnmap) F(cuMemSetAccess)                   \
    F(cuMemGetAllocationGranularity) F(cuStreamCreate) F(cuStreamDestroy_v2) F(cuStreamSynchronize)          \
    F(cuStreamBeginCapture_v2) F(cuStreamEndCapture) F(cuGraphDestroy) F(cuMemsetD8Async)

struct gpu_app {
#define GPU_APP_MEMBER(name) __typeof__(&name) name;
    GPU_APP_FUNCTIONS(GPU_APP_MEMBER)
#undef GPU_APP_MEMBER
    CUresult (*cuCtxCreate_v2)(CUcontext *context, unsigned flags, CUdevice device);
};

/* The process's table, loaded on first use; ends the process where there is no driver. */
const struct gpu_app *gpu_app(void);

/* Kinds of memory that a program may hold. */
enum gpu_memory {
    GPU_ALLOCATED, GPU_POOL, GPU_VMM, GPU_OTHER_CONTEXT, GPU_MANAGED, GPU_PINNED, GPU_REGISTERED, GPU_PAGEABLE, GPU_MEMORIES
};
extern const char *const gpu_memory_names[GPU_MEMORIES];

struct gpu_buffer {
    enum gpu_memory memory;
    char *address;                        /* null: could not be made, which failed a check */
    size_t bytes;
    CUmemGenericAllocationHandle physical;
    CUcontext context;
};

/* A program that works on the primary context of device 0, as one that uses the CUDA runtime, with one gf_device and stream. */
struct gpu_program {
    gf_driver *driver;
    gf_device *device;
    gf_stream *stream;
};
bool gpu_program_start(struct gpu_program *program);
void gpu_program_end(struct gpu_program *program);

struct gpu_buffer gpu_buffer_make(struct gpu_program *program, enum gpu_memory memory, size_t bytes);
void gpu_buffer_free(struct gpu_program *program, struct gpu_buffer *buffer);

/* Writes a pattern into any memory, or compares; both are finished on return. The pattern depends on seed and place. */
gf_status gpu_pattern_write(struct gpu_program *program, void *to, size_t bytes, unsigned seed);
bool gpu_pattern_is(struct gpu_program *program, const void *from, size_t bytes, unsigned seed);

/* Copies one piece by our kernel and waits for the word that it stores at its end. */
gf_status gpu_copy_by_kernel(struct gpu_program *program, void *to, const void *from, size_t bytes, struct gf_reason *why);

/* The parts, each in a process of its own in which CUDA has not been touched. */
void gpu_part_before_cuda(void);
void gpu_part_capabilities(void);
void gpu_part_pointers(void);
void gpu_part_copies(void);
void gpu_part_streams(void);
void gpu_part_kernels(void);
void gpu_part_timing(void);
void gpu_part_contexts(void);
void gpu_part_capture(void);
void gpu_part_ipc(void);
void gpu_part_ipc_refused(void);
void gpu_part_reset(void);
void gpu_part_reset_and_go_on(void);
void gpu_part_exit(void);
void gpu_part_crash(void);

#endif
