/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory as a dma-buf, which adapters can reach without a module of the driver's.
 */
#include "device/cuda_device.h"

#include <unistd.h>

enum { AS_DMABUF = 1 };           /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, which an older cuda.h has not got */

/* The driver gives whole pages of the host. */
gf_status gf_cuda_dmabuf_export(gf_device *base, const void *address, size_t bytes, struct gf_dmabuf *dmabuf,
                                struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)address / page * page;
    uintptr_t end = ((uintptr_t)address + bytes + page - 1) / page * page;
    struct gf_cuda_scope scope;
    int fd = -1;
    if (!api->cuMemGetHandleForAddressRange) {
        gf_reason_set(why, "the NVIDIA driver exports no dma-buf: update it to one for CUDA 11.7 or newer");
        return GF_ERR_UNSUPPORTED;
    }
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = api->cuMemGetHandleForAddressRange(&fd, (CUdeviceptr)first, end - first, AS_DMABUF, 0);
        gf_cuda_leave(device, &scope);
    }
    if (result != CUDA_SUCCESS) {
        gf_cuda_fail(api, result, why, "exporting %zu bytes of device memory as a dma-buf", bytes);
        return GF_ERR_UNSUPPORTED;
    }
    *dmabuf = (struct gf_dmabuf){ .fd = fd, .offset = (uintptr_t)address - first };
    return GF_OK;
}
