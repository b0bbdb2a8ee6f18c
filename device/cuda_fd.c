/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the virtual memory functions, shared between processes by a file descriptor. The exporter's server makes the
 * descriptor when an importer asks for it; the importer maps what it names, and closes it.
 *
 * Memory of stream-ordered pools is not shared. The driver can export it where the pool is made for that, but wants every
 * importer to unmap a pointer before its owner frees it, and who frees does not tell.
 */
#include "device/cuda_device.h"

#include <stdint.h>
#include <unistd.h>

/* A descriptor of the allocation at this address, or the driver's refusal. */
static CUresult make_fd(const struct gf_cuda_api *api, uint64_t base, int *fd)
{
    CUmemGenericAllocationHandle physical;
    CUresult result = api->cuMemRetainAllocationHandle(&physical, (void *)base);
    *fd = -1;
    if (result != CUDA_SUCCESS)
        return result;
    result = api->cuMemExportToShareableHandle(fd, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    api->cuMemRelease(physical);
    return result;
}

/* On the server's thread, which has no context: these functions need none. what: address and buffer id. */
int gf_cuda_fd_give(void *context, const struct gf_fd_request *request, struct gf_reason *why)
{
    struct gf_cuda_driver *driver = context;
    struct gf_pointer info;
    int fd = -1;
    if (gf_cuda_pointer(&driver->base, (const void *)request->what[0], &info) != GF_OK || info.kind != GF_MEMORY_DEVICE ||
        info.base != (void *)request->what[0] || info.buffer_id != request->what[1]) {
        gf_reason_set(why, "it has freed this memory");
        return -1;
    }
    CUresult result = make_fd(&driver->api, request->what[0], &fd);
    if (result != CUDA_SUCCESS)
        gf_cuda_fail(&driver->api, result, why, "making the descriptor");
    return fd;
}

static bool is_of_pool(const struct gf_cuda_api *api, const void *address)
{
    CUmemoryPool pool = NULL;
    return api->cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)address) == CUDA_SUCCESS && pool;
}

/* The descriptor is made once here, to see that it can be. */
gf_status gf_cuda_fd_export(struct gf_cuda_device *device, const struct gf_pointer *info, uint64_t *server, struct gf_reason *why)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    int fd;
    if (is_of_pool(api, info->base)) {
        gf_reason_set(why, "memory of a stream-ordered pool (cudaMallocAsync) cannot be mapped by other processes for as long as "
                      "its owner may free it unseen");
        return GF_ERR_UNSUPPORTED;
    }
    CUresult result = make_fd(api, (uint64_t)info->base, &fd);
    if (result != CUDA_SUCCESS) {
        gf_cuda_fail(api, result, why, "memory of the virtual memory functions can be mapped by other processes only if it was "
                     "made with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
        return GF_ERR_UNSUPPORTED;
    }
    close(fd);
    return gf_fd_server_start(&device->driver->server, server, why) == GF_OK ? GF_OK : GF_ERR_UNSUPPORTED;
}

/* Our context is current. */
static CUresult map_fd(struct gf_cuda_device *device, int fd, size_t bytes, CUdeviceptr *start)
{
    CUmemGenericAllocationHandle physical;
    CUresult result = gf_cuda_api_of(device)->cuMemImportFromShareableHandle(&physical, (void *)(uintptr_t)fd,
                                                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result != CUDA_SUCCESS)
        return result;
    result = gf_cuda_vmm_map(device, physical, bytes, start);
    gf_cuda_api_of(device)->cuMemRelease(physical);
    return result;
}

gf_status gf_cuda_fd_import(struct gf_cuda_device *device, const struct gf_cuda_handle *handle, CUdeviceptr *start,
                            CUresult *result, struct gf_reason *why)
{
    const struct gf_fd_request request = { { handle->by_fd.base, handle->buffer_id } };
    int fd;
    gf_status status = gf_fd_ask(handle->by_fd.server, &request, &fd, why);
    if (status != GF_OK)
        return status;
    struct gf_cuda_scope scope;
    *result = gf_cuda_enter(device, &scope);
    if (*result == CUDA_SUCCESS) {
        *result = map_fd(device, fd, handle->bytes, start);
        gf_cuda_leave(device, &scope);
    }
    close(fd);
    return GF_OK;
}
