/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call of ours works in the device's primary context and leaves the caller's as it was.
 */
#include "device/cuda_device.h"

/* A reset destroys the primary context although we hold a reference. The program may make a new one under the same handle:
 * only the id tells. Other failures, such as the sticky error of a crashed kernel, are for the call itself to report. */
bool gf_cuda_is_lost(struct gf_cuda_device *device)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    unsigned flags = 0;
    int active = 1;
    CUresult result = api->cuDevicePrimaryCtxGetState(device->handle, &flags, &active);
    if (gf_cuda_is_gone(result) || !active)
        return true;
    if (!device->context_id)
        return false;
    unsigned long long id = device->context_id;
    result = api->cuCtxGetId(device->context, &id);
    return gf_cuda_is_gone(result) || id != device->context_id;
}

static void pop(const struct gf_cuda_api *api, const struct gf_cuda_scope *scope)
{
    CUcontext ours;
    if (scope->pushed)
        api->cuCtxPopCurrent_v2(&ours);
}

CUresult gf_cuda_enter(struct gf_cuda_device *device, struct gf_cuda_scope *scope)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    if (gf_cuda_is_lost(device))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUcontext current = NULL;
    CUresult result = CUDA_SUCCESS;
    scope->pushed = api->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != device->context;
    if (scope->pushed)
        result = api->cuCtxPushCurrent_v2(device->context);
    if (result != CUDA_SUCCESS)
        return result;
    scope->capture = CU_STREAM_CAPTURE_MODE_RELAXED;
    result = api->cuThreadExchangeStreamCaptureMode(&scope->capture);
    if (result != CUDA_SUCCESS)
        pop(api, scope);
    return result;
}

void gf_cuda_leave(struct gf_cuda_device *device, struct gf_cuda_scope *scope)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    api->cuThreadExchangeStreamCaptureMode(&scope->capture);
    pop(api, scope);
}
