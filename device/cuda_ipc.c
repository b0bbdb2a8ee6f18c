/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory of other processes. The driver maps an allocation once in a process: a table counts who uses the mapping.
 */
#include "device/cuda_device.h"

#include <stdlib.h>
#include <string.h>

/* One allocation of another process, mapped here. Owned by the device's table, under its mappings_lock. */
struct gf_cuda_mapping {
    struct gf_cuda_mapping *next;
    struct gf_cuda_handle handle;
    CUdeviceptr start;
    long uses;
};

/* Out of memory and a device that is lost or has crashed are the caller's trouble; everything else means that this memory or
 * this pair of processes cannot, and there are other paths. */
static gf_status refusal(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED:
        return gf_cuda_status(result);
    default:
        return GF_ERR_UNSUPPORTED;
    }
}

static gf_status refuse_export(const struct gf_pointer *info, struct gf_reason *why)
{
    static const char *const kinds[] = {
        [GF_MEMORY_HOST] = "host memory", [GF_MEMORY_PINNED] = "pinned host memory", [GF_MEMORY_MANAGED] = "managed memory",
        [GF_MEMORY_INVALID] = "freed memory",
    };
    gf_reason_set(why, "%s cannot be mapped by other processes: plain cudaMalloc memory can", kinds[info->kind]);
    return GF_ERR_UNSUPPORTED;
}

static gf_status export_plain(struct gf_cuda_device *device, const struct gf_pointer *info, struct gf_cuda_handle *handle,
                              struct gf_reason *why)
{
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuIpcGetMemHandle(&handle->allocation, (CUdeviceptr)info->base);
        gf_cuda_leave(device, &scope);
    }
    if (result == CUDA_SUCCESS)
        return GF_OK;
    gf_cuda_fail(gf_cuda_api_of(device), result, why, "exporting %zu bytes of CUDA device %d to other processes", info->size,
                 device->base.ordinal);
    return refusal(result);
}

static gf_status export_by_fd(struct gf_cuda_device *device, const struct gf_pointer *info, struct gf_cuda_handle *handle,
                              struct gf_reason *why)
{
    handle->is_fd = true;
    handle->by_fd.base = (uint64_t)info->base;
    return gf_cuda_fd_export(device, info, &handle->by_fd.server, why);
}

gf_status gf_cuda_ipc_export(gf_device *base, const void *address, struct gf_ipc_handle *out, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_pointer info;
    gf_status status = gf_cuda_pointer(base->driver, address, &info);
    if (status != GF_OK) {
        gf_reason_set(why, "the CUDA driver does not say what %p is: an earlier kernel has crashed", address);
        return status;
    }
    if (!base->caps.ipc) {
        gf_reason_set(why, "CUDA device %d does not share memory between processes (WSL and integrated GPUs do not)",
                      base->ordinal);
        return GF_ERR_UNSUPPORTED;
    }
    if (info.kind != GF_MEMORY_DEVICE)
        return refuse_export(&info, why);

    struct gf_cuda_handle handle = {
        .offset = (uint64_t)((const char *)address - (const char *)info.base), .bytes = info.size,
        .buffer_id = info.buffer_id, .process = device->driver->base.process,
    };
    status = info.ipc ? export_plain(device, &info, &handle, why) : export_by_fd(device, &info, &handle, why);
    if (status != GF_OK)
        return status;
    memset(out, 0, sizeof *out);
    memcpy(out->bytes, &handle, sizeof handle);
    return GF_OK;
}

/* Two exports of one allocation differ in the offset only. */
static bool same_allocation(const struct gf_cuda_handle *a, const struct gf_cuda_handle *b)
{
    return a->process == b->process && a->buffer_id == b->buffer_id &&
           memcmp(&a->allocation, &b->allocation, sizeof a->allocation) == 0;
}

static struct gf_cuda_mapping *find_by_handle(struct gf_cuda_device *device, const struct gf_cuda_handle *handle)
{
    struct gf_cuda_mapping *mapping = device->mappings;
    while (mapping && !same_allocation(&mapping->handle, handle))
        mapping = mapping->next;
    return mapping;
}

static CUresult open_plain(struct gf_cuda_device *device, const struct gf_cuda_handle *handle, CUdeviceptr *start)
{
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuIpcOpenMemHandle_v2(start, handle->allocation, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        gf_cuda_leave(device, &scope);
    }
    return result;
}

/* mappings_lock is held. */
static gf_status map(struct gf_cuda_device *device, const struct gf_cuda_handle *handle, struct gf_cuda_mapping **made,
                     struct gf_reason *why)
{
    struct gf_cuda_mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) {
        gf_reason_set(why, "no host memory to note a mapping");
        return GF_ERR_NO_MEMORY;
    }
    mapping->handle = *handle;
    CUresult result = CUDA_SUCCESS;
    gf_status status = GF_OK;
    if (handle->is_fd)
        status = gf_cuda_fd_import(device, handle, &mapping->start, &result, why);
    else
        result = open_plain(device, handle, &mapping->start);
    if (status != GF_OK) {
        free(mapping);
        return status;
    }
    if (result != CUDA_SUCCESS) {
        free(mapping);
        gf_cuda_fail(gf_cuda_api_of(device), result, why, "mapping %llu bytes of another process's memory into CUDA device %d "
                     "(let all ranks run in one container and see the same GPUs)", (unsigned long long)handle->bytes,
                     device->base.ordinal);
        return refusal(result);
    }
    mapping->next = device->mappings;
    device->mappings = mapping;
    *made = mapping;
    return GF_OK;
}

gf_status gf_cuda_ipc_open(gf_device *base, const struct gf_ipc_handle *in, void **address, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_handle handle;
    memcpy(&handle, in->bytes, sizeof handle);
    *address = NULL;
    if (handle.process == device->driver->base.process) {
        gf_reason_set(why, "this GPU memory belongs to the process itself: use its address instead of an IPC mapping");
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = GF_OK;
    pthread_mutex_lock(&device->mappings_lock);
    struct gf_cuda_mapping *mapping = find_by_handle(device, &handle);
    if (!mapping)
        status = map(device, &handle, &mapping, why);
    if (status == GF_OK) {
        mapping->uses++;
        *address = (void *)(mapping->start + handle.offset);
    }
    pthread_mutex_unlock(&device->mappings_lock);
    return status;
}

/* mappings_lock is held. */
static gf_status unmap(struct gf_cuda_device *device, struct gf_cuda_mapping **link)
{
    struct gf_cuda_mapping *mapping = *link;
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = mapping->handle.is_fd ? gf_cuda_vmm_unmap(device, mapping->start, mapping->handle.bytes)
                                       : gf_cuda_api_of(device)->cuIpcCloseMemHandle(mapping->start);
        gf_cuda_leave(device, &scope);
    }
    *link = mapping->next;
    free(mapping);
    return gf_cuda_is_gone(result) ? GF_OK : gf_cuda_status(result);
}

gf_status gf_cuda_ipc_close(gf_device *base, void *address)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    gf_status status = GF_ERR_INVALID;
    pthread_mutex_lock(&device->mappings_lock);
    for (struct gf_cuda_mapping **link = &device->mappings; *link; link = &(*link)->next) {
        if ((CUdeviceptr)address - (*link)->start >= (*link)->handle.bytes)
            continue;
        status = --(*link)->uses == 0 ? unmap(device, link) : GF_OK;
        break;
    }
    pthread_mutex_unlock(&device->mappings_lock);
    return status;
}

void gf_cuda_ipc_close_all(struct gf_cuda_device *device)
{
    pthread_mutex_lock(&device->mappings_lock);
    while (device->mappings)
        unmap(device, &device->mappings);
    pthread_mutex_unlock(&device->mappings_lock);
}
