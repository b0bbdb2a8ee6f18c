/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVIDIA's driver library as a table of functions, opened at run time: this build links neither libcuda nor libcudart, and
 * cuda.h is read for its types alone. Also: whether there is a GPU at all, and the sentences for the driver's errors.
 */
#ifndef GF_DEVICE_CUDA_DRIVER_H
#define GF_DEVICE_CUDA_DRIVER_H

#include <stdbool.h>
#include <cuda.h>

#include "base/status.h"

/* The functions without which there is nothing to do, by the exact name of the binary interface, so that a newer cuda.h
 * cannot silently ask for a newer driver. All of them are in CUDA 11.4. */
#define GF_CUDA_REQUIRED(F)                                                                                                 \
    F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuGetErrorString)                                                   \
    F(cuDeviceGet) F(cuDeviceGetCount) F(cuDeviceGetAttribute) F(cuDeviceGetUuid_v2) F(cuDeviceGetPCIBusId)                 \
    F(cuDeviceGetP2PAttribute)                                                                                              \
    F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease_v2) F(cuDevicePrimaryCtxGetState)                               \
    F(cuCtxGetCurrent) F(cuCtxPushCurrent_v2) F(cuCtxPopCurrent_v2) F(cuCtxGetDevice) F(cuCtxSynchronize)                   \
    F(cuCtxGetStreamPriorityRange)                                                                                          \
    F(cuThreadExchangeStreamCaptureMode) F(cuPointerGetAttribute) F(cuPointerGetAttributes)                                 \
    F(cuMemGetInfo_v2) F(cuMemAlloc_v2) F(cuMemFree_v2) F(cuMemAllocManaged) F(cuMemHostRegister_v2) F(cuMemHostUnregister) \
    F(cuMemCreate) F(cuMemRelease) F(cuMemAddressReserve) F(cuMemAddressFree) F(cuMemMap) F(cuMemUnmap)                     \
    F(cuMemSetAccess) F(cuMemGetAccess) F(cuMemGetAllocationGranularity) F(cuMemRetainAllocationHandle)                     \
    F(cuMemExportToShareableHandle) F(cuMemImportFromShareableHandle) F(cuMemAllocAsync)                                    \
    F(cuIpcGetMemHandle) F(cuIpcOpenMemHandle_v2) F(cuIpcCloseMemHandle)                                                    \
    F(cuStreamCreateWithPriority) F(cuStreamDestroy_v2) F(cuStreamQuery) F(cuStreamSynchronize)                             \
    F(cuStreamSetAttribute) F(cuMemcpyAsync) F(cuMemcpy2DAsync_v2) F(cuMemsetD8Async)                                       \
    F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuLaunchKernel)

/* Owner: the process's one CUDA driver (cuda.c). Written by gf_cuda_load, only read afterwards. */
struct gf_cuda_api {
#define GF_CUDA_MEMBER(name) __typeof__(&name) name;
    GF_CUDA_REQUIRED(GF_CUDA_MEMBER)
#undef GF_CUDA_MEMBER

    /* Newer than that: null where the driver has not got them. Typed here, because cuda.h may not have them either. */
    CUresult (*cuCtxGetId)(CUcontext context, unsigned long long *id);       /* 12.0: never reused within a process */
    CUresult (*cuFuncLoad)(CUfunction function);                             /* 12.4 */
    CUresult (*cuMemGetHandleForAddressRange)(void *handle, CUdeviceptr start, size_t bytes, int type,
                                              unsigned long long flags);     /* 11.7; type is an enum there */
};

/* Opens libcuda.so.1 and fills the table; calls none of its functions but cuDriverGetVersion. The library stays open until exit.
 * GF_ERR_UNSUPPORTED with a sentence: no driver installed, or one too old for this build. */
gf_status gf_cuda_load(struct gf_cuda_api *api, struct gf_reason *why);

/* Is there a device node or a driver entry of a GPU below root ("" for this host)? No library is touched. */
bool gf_cuda_gpu_present(const char *root);

/* The driver's result as ours: GF_IN_PROGRESS for "not ready". */
gf_status gf_cuda_status(CUresult result);

/* The context, or the whole driver, that an object lived in is gone, and the object with it. */
bool gf_cuda_is_gone(CUresult result);

/* Writes "<what was tried>: <the driver's name and text>", with advice where we have some, and returns gf_cuda_status(result). */
gf_status gf_cuda_fail(const struct gf_cuda_api *api, CUresult result, struct gf_reason *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
