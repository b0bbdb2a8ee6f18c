/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory of the driver's virtual memory functions and of stream-ordered pools: how programs that use other allocators than
 * cudaMalloc have theirs (expandable segments, cudaMallocAsync). Also how memory that came as a file descriptor is mapped.
 */
#include "device/cuda_device.h"

#include <stdlib.h>

/* An allocation of the virtual memory functions that this process made here. Owned by the device's list, under its
 * mappings_lock. */
struct gf_cuda_piece {
    struct gf_cuda_piece *next;
    CUdeviceptr start;
    size_t bytes;
};

CUresult gf_cuda_vmm_map(struct gf_cuda_device *device, CUmemGenericAllocationHandle physical, size_t bytes, CUdeviceptr *start)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    const CUmemAccessDesc access = {
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->handle }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    CUresult result = api->cuMemAddressReserve(start, bytes, 0, 0, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = api->cuMemMap(*start, bytes, 0, physical, 0);
    if (result == CUDA_SUCCESS) {
        result = api->cuMemSetAccess(*start, bytes, &access, 1);
        if (result != CUDA_SUCCESS)
            api->cuMemUnmap(*start, bytes);
    }
    if (result != CUDA_SUCCESS)
        api->cuMemAddressFree(*start, bytes);
    return result;
}

CUresult gf_cuda_vmm_unmap(struct gf_cuda_device *device, CUdeviceptr start, size_t bytes)
{
    CUresult result = gf_cuda_api_of(device)->cuMemUnmap(start, bytes);
    return result == CUDA_SUCCESS ? gf_cuda_api_of(device)->cuMemAddressFree(start, bytes) : result;
}

bool gf_cuda_vmm_reaches(struct gf_cuda_device *device, const void *address)
{
    const CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->handle };
    unsigned long long flags = 0;
    return gf_cuda_api_of(device)->cuMemGetAccess(&flags, &location, (CUdeviceptr)address) == CUDA_SUCCESS &&
           flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

/* Physical memory, mapped. Our context is current. *bytes grows to what the device hands out. */
static CUresult make_piece(struct gf_cuda_device *device, bool exportable, size_t *bytes, CUdeviceptr *start)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    const CUmemAllocationProp wanted = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->handle },
        .requestedHandleTypes = exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
    };
    CUmemGenericAllocationHandle physical;
    size_t step = 0;
    CUresult result = api->cuMemGetAllocationGranularity(&step, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result != CUDA_SUCCESS)
        return result;
    *bytes = (*bytes + step - 1) / step * step;
    result = api->cuMemCreate(&physical, *bytes, &wanted, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = gf_cuda_vmm_map(device, physical, *bytes, start);
    api->cuMemRelease(physical);      /* the mapping keeps it */
    return result;
}

static CUresult make_in_pool(struct gf_cuda_device *device, size_t bytes, CUdeviceptr *start)
{
    CUresult result = gf_cuda_api_of(device)->cuMemAllocAsync(start, bytes, CU_STREAM_PER_THREAD);
    return result == CUDA_SUCCESS ? gf_cuda_api_of(device)->cuStreamSynchronize(CU_STREAM_PER_THREAD) : result;
}

static void note_piece(struct gf_cuda_device *device, struct gf_cuda_piece *piece, CUdeviceptr start, size_t bytes)
{
    *piece = (struct gf_cuda_piece){ .start = start, .bytes = bytes };
    pthread_mutex_lock(&device->mappings_lock);
    piece->next = device->pieces;
    device->pieces = piece;
    pthread_mutex_unlock(&device->mappings_lock);
}

gf_status gf_cuda_alloc_by(gf_device *base, enum gf_allocator by, size_t bytes, void **address, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    if (by == GF_ALLOCATOR_PLAIN || bytes == 0)
        return gf_cuda_alloc(base, bytes, address, why);
    struct gf_cuda_piece *piece = by == GF_ALLOCATOR_POOL ? NULL : malloc(sizeof *piece);
    struct gf_cuda_scope scope;
    CUdeviceptr start = 0;
    *address = NULL;
    if (!piece && by != GF_ALLOCATOR_POOL) {
        gf_reason_set(why, "no host memory to note an allocation");
        return GF_ERR_NO_MEMORY;
    }
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = piece ? make_piece(device, by == GF_ALLOCATOR_VMM_FD, &bytes, &start) : make_in_pool(device, bytes, &start);
        gf_cuda_leave(device, &scope);
    }
    if (result != CUDA_SUCCESS) {
        free(piece);
        gf_cuda_fail(gf_cuda_api_of(device), result, why, "allocating %zu bytes of %s", bytes,
                     by == GF_ALLOCATOR_POOL ? "a memory pool" : "memory by the virtual memory functions");
        return result == CUDA_ERROR_NOT_SUPPORTED ? GF_ERR_UNSUPPORTED : gf_cuda_status(result);
    }
    if (piece)
        note_piece(device, piece, start, bytes);
    atomic_fetch_add(&device->allocations, 1);
    *address = (void *)start;
    return GF_OK;
}

/* Takes it out of the list; null: not ours. */
static struct gf_cuda_piece *take_piece(struct gf_cuda_device *device, CUdeviceptr start)
{
    pthread_mutex_lock(&device->mappings_lock);
    struct gf_cuda_piece **link = &device->pieces;
    while (*link && (*link)->start != start)
        link = &(*link)->next;
    struct gf_cuda_piece *piece = *link;
    if (piece)
        *link = piece->next;
    pthread_mutex_unlock(&device->mappings_lock);
    return piece;
}

void gf_cuda_vmm_forget_all(struct gf_cuda_device *device)
{
    while (device->pieces) {
        struct gf_cuda_piece *piece = device->pieces;
        device->pieces = piece->next;
        free(piece);
    }
}

/* As cudaFree it waits: an unmapping does not. */
bool gf_cuda_vmm_free(struct gf_cuda_device *device, void *address, CUresult *result)
{
    struct gf_cuda_piece *piece = take_piece(device, (CUdeviceptr)address);
    if (!piece)
        return false;
    *result = gf_cuda_api_of(device)->cuCtxSynchronize();
    if (*result == CUDA_SUCCESS)
        *result = gf_cuda_vmm_unmap(device, piece->start, piece->bytes);
    free(piece);
    return true;
}
