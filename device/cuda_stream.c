/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of our own, beside the program's, and fills on them.
 */
#include "device/cuda_device.h"

#include <stdlib.h>
#include <string.h>

struct gf_stream {
    CUstream handle;
};

CUstream gf_cuda_stream_handle(gf_stream *stream) { return stream->handle; }

/* Our kernels' system-scope fences then wait for our own stores only, not for those of the program's kernels. Data of theirs
 * that we pass on is safe: those kernels have ended. A hint: older drivers and GPUs go without. */
static void use_remote_domain(const struct gf_cuda_api *api, CUstream stream)
{
#if CUDA_VERSION >= 12000
    CUstreamAttrValue value = { .memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE };
    api->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value);
#else
    (void)api;
    (void)stream;
#endif
}

gf_status gf_cuda_stream_create(gf_device *base, gf_stream **made, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    *made = NULL;
    gf_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        gf_reason_set(why, "no host memory for a stream");
        return GF_ERR_NO_MEMORY;
    }
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        int least = 0, greatest = 0;
        api->cuCtxGetStreamPriorityRange(&least, &greatest);
        result = api->cuStreamCreateWithPriority(&stream->handle, CU_STREAM_NON_BLOCKING, greatest);
        if (result == CUDA_SUCCESS)
            use_remote_domain(api, stream->handle);
        gf_cuda_leave(device, &scope);
    }
    if (result != CUDA_SUCCESS) {
        free(stream);
        return gf_cuda_fail(api, result, why, "making a stream on CUDA device %d", base->ordinal);
    }
    *made = stream;
    return GF_OK;
}

void gf_cuda_stream_destroy(gf_device *base, gf_stream *stream)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    struct gf_cuda_scope scope;
    if (!stream)
        return;
    if (gf_cuda_enter(device, &scope) == CUDA_SUCCESS) {
        api->cuStreamSynchronize(stream->handle);
        api->cuStreamDestroy_v2(stream->handle);
        gf_cuda_leave(device, &scope);
    }
    free(stream);
}

/* The driver fills only what it knows; other host memory is filled by the CPU, in its turn. */
gf_status gf_cuda_fill(gf_device *base, gf_stream *stream, void *to, int byte, size_t bytes)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_scope scope;
    struct gf_pointer info;
    if (!bytes)
        return GF_OK;
    gf_status status = gf_cuda_pointer(base->driver, to, &info);
    if (status != GF_OK)
        return status;
    if (info.kind == GF_MEMORY_HOST) {
        status = gf_cuda_stream_sync(base, stream);
        if (status == GF_OK)
            memset(to, byte, bytes);
        return status;
    }
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuMemsetD8Async((CUdeviceptr)to, (unsigned char)byte, bytes, stream->handle);
        gf_cuda_leave(device, &scope);
    }
    return gf_cuda_status(result);
}

gf_status gf_cuda_stream_query(gf_device *base, gf_stream *stream)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuStreamQuery(stream->handle);
        gf_cuda_leave(device, &scope);
    }
    return gf_cuda_status(result);
}

gf_status gf_cuda_stream_sync(gf_device *base, gf_stream *stream)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuStreamSynchronize(stream->handle);
        gf_cuda_leave(device, &scope);
    }
    return gf_cuda_status(result);
}

gf_status gf_cuda_device_sync(gf_device *base)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuCtxSynchronize();
        gf_cuda_leave(device, &scope);
    }
    return gf_cuda_status(result);
}
