/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens libcuda.so.1 at run time, and turns its error codes into sentences.
 */
#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct symbol {
    const char *name;
    size_t offset;
};

static const struct symbol required[] = {
#define SYMBOL(name) { #name, offsetof(struct gf_cuda_api, name) },
    GF_CUDA_REQUIRED(SYMBOL)
#undef SYMBOL
};

static const struct symbol optional[] = {
    { "cuCtxGetId", offsetof(struct gf_cuda_api, cuCtxGetId) },
    { "cuFuncLoad", offsetof(struct gf_cuda_api, cuFuncLoad) },
    { "cuMemGetHandleForAddressRange", offsetof(struct gf_cuda_api, cuMemGetHandleForAddressRange) },
};

/* What a person can do about an error. Only where the driver's own text does not say it. */
static const struct {
    CUresult result;
    const char *advice;
} advice[] = {
    { CUDA_ERROR_STUB_LIBRARY, "libcuda.so.1 is the toolkit's stub: take its folder out of LD_LIBRARY_PATH" },
    { CUDA_ERROR_NOT_INITIALIZED, "a process that was forked after CUDA had started cannot use it: let it exec first" },
    { CUDA_ERROR_NO_DEVICE, "no GPU is visible to this process: look at nvidia-smi and CUDA_VISIBLE_DEVICES" },
    { CUDA_ERROR_INVALID_DEVICE, "there is no GPU of that number: look at nvidia-smi and CUDA_VISIBLE_DEVICES" },
    { CUDA_ERROR_DEVICE_UNAVAILABLE, "another process holds it exclusively: share it with nvidia-smi -c DEFAULT, or use MPS" },
    { CUDA_ERROR_SYSTEM_NOT_READY, "start the nvidia-fabricmanager service" },
    { CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "the kernel module and libcuda are of different versions: reload the module or reboot" },
    { CUDA_ERROR_MPS_CONNECTION_FAILED, "start nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY" },
    { CUDA_ERROR_MPS_SERVER_NOT_READY, "the MPS server is starting or recovering: try again" },
    { CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "start fewer processes on this GPU" },
    { CUDA_ERROR_CONTEXT_IS_DESTROYED, "the program has reset the GPU (cudaDeviceReset): do that after MPI_Finalize" },
    { CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part of it is registered already: unregister that first" },
};

gf_status gf_cuda_load(struct gf_cuda_api *api, struct gf_reason *why)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        gf_reason_set(why, "there is no usable NVIDIA driver here (%s): install it, or run on a node that has it",
                      dlerror());
        return GF_ERR_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        void *function = dlsym(library, optional[i].name);
        memcpy((char *)api + optional[i].offset, &function, sizeof function);
    }
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        void *function = dlsym(library, required[i].name);
        memcpy((char *)api + required[i].offset, &function, sizeof function);
        if (function)
            continue;
        int version = 0;
        if (api->cuDriverGetVersion)
            api->cuDriverGetVersion(&version);
        gf_reason_set(why, "the NVIDIA driver is too old: it supports CUDA %d.%d and has no %s; gpufifo, built with CUDA %d.%d, "
                      "needs a driver for CUDA 11.4 at least: update it", version / 1000, version % 1000 / 10,
                      required[i].name, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
        dlclose(library);
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

bool gf_cuda_gpu_present(const char *root)
{
    static const char *const signs[] = { "/dev/nvidia[0-9]*", "/proc/driver/nvidia/gpus/*", "/dev/dxg" };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        char pattern[512];
        snprintf(pattern, sizeof pattern, "%s%s", root, signs[i]);
        glob_t found;
        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
            globfree(&found);
            return true;
        }
    }
    return false;
}

gf_status gf_cuda_status(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return GF_OK;
    case CUDA_ERROR_NOT_READY:
        return GF_IN_PROGRESS;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
        return GF_ERR_INVALID;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return GF_ERR_NO_MEMORY;
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
        return GF_ERR_UNSUPPORTED;
    default:
        return GF_ERR_DEVICE;
    }
}

bool gf_cuda_is_gone(CUresult result)
{
    return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
           result == CUDA_ERROR_INVALID_CONTEXT;
}

static const char *advice_for(CUresult result)
{
    for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++) {
        if (advice[i].result == result)
            return advice[i].advice;
    }
    return NULL;
}

gf_status gf_cuda_fail(const struct gf_cuda_api *api, CUresult result, struct gf_reason *why, const char *format, ...)
{
    const char *name = NULL, *text = NULL;
    api->cuGetErrorName(result, &name);
    api->cuGetErrorString(result, &text);

    char tried[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tried, sizeof tried, format, arguments);
    va_end(arguments);

    const char *what_to_do = advice_for(result);
    gf_reason_set(why, "%s: %s (%s)%s%s", tried, name ? name : "an unknown CUDA error", text ? text : "no text",
                  what_to_do ? ": " : "", what_to_do ? what_to_do : "");
    return gf_cuda_status(result);
}
