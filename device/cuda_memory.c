/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an address is, and memory of every kind.
 */
#include "device/cuda_device.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const double GIB = 1024.0 * 1024.0 * 1024.0;

/* Does the context of our open device own it? */
static bool is_in_context(const struct gf_cuda_driver *driver, int ordinal, CUcontext owner)
{
    return owner && ordinal >= 0 && ordinal < GF_CUDA_DEVICES && atomic_load(&driver->contexts[ordinal]) == owner;
}

/* One call for all questions, which also answers for host memory: of an address that it does not know the driver says no type.
 * (Asked for the type alone it refuses, and takes four times as long to do so.) While the program has not initialised CUDA all
 * memory is the host's, and a freed address is host memory to the driver. */
gf_status gf_cuda_pointer(gf_driver *base, const void *address, struct gf_pointer *info)
{
    const struct gf_cuda_api *api = &((struct gf_cuda_driver *)base)->api;
    CUmemorytype type = 0;
    int managed = 0, ordinal = -1, ipc = 0;
    CUdeviceptr start = 0;
    size_t size = 0;
    unsigned long long id = 0;
    CUcontext owner = NULL;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_CONTEXT,
    };
    void *values[] = { &type, &managed, &ordinal, &ipc, &start, &size, &id, &owner };

    *info = (struct gf_pointer){ .kind = GF_MEMORY_HOST, .ordinal = -1 };
    CUresult result = api->cuPointerGetAttributes(sizeof attributes / sizeof attributes[0], attributes, values,
                                                  (CUdeviceptr)address);
    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_INITIALIZED || gf_cuda_is_gone(result))
        return GF_OK;
    if (result != CUDA_SUCCESS)
        return GF_ERR_DEVICE;
    if (type == 0)
        return GF_OK;
    info->kind = managed ? GF_MEMORY_MANAGED : type == CU_MEMORYTYPE_HOST ? GF_MEMORY_PINNED : GF_MEMORY_DEVICE;
    info->ordinal = info->kind == GF_MEMORY_PINNED ? -1 : ordinal;
    info->base = (void *)start;
    info->size = size;
    info->buffer_id = id;
    info->ipc = info->kind == GF_MEMORY_DEVICE && ipc;
    info->direct = info->kind == GF_MEMORY_DEVICE && is_in_context((struct gf_cuda_driver *)base, ordinal, owner);
    return GF_OK;
}

static gf_status refuse_empty(struct gf_reason *why, const char *what)
{
    gf_reason_set(why, "0 bytes of %s memory were asked for: ask for at least 1", what);
    return GF_ERR_INVALID;
}

static gf_status alloc_failed(const struct gf_cuda_api *api, CUresult result, size_t bytes, size_t free_bytes, size_t total,
                              const char *what, struct gf_reason *why)
{
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return gf_cuda_fail(api, result, why, "allocating %zu bytes of %s memory", bytes, what);
    gf_reason_set(why, "allocating %zu bytes (%.2f GiB) of %s memory: CUDA_ERROR_OUT_OF_MEMORY, %.2f of the GPU's %.2f GiB are "
                  "free: free some, or let fewer processes share this GPU", bytes, (double)bytes / GIB, what,
                  (double)free_bytes / GIB, (double)total / GIB);
    return GF_ERR_NO_MEMORY;
}

static gf_status allocate(gf_device *base, size_t bytes, void **address, bool managed, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    const char *what = managed ? "managed" : "device";
    *address = NULL;
    if (!bytes)
        return refuse_empty(why, what);
    struct gf_cuda_scope scope;
    CUdeviceptr memory = 0;
    size_t free_bytes = 0, total = 0;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = managed ? api->cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL) : api->cuMemAlloc_v2(&memory, bytes);
        if (result == CUDA_ERROR_OUT_OF_MEMORY)
            api->cuMemGetInfo_v2(&free_bytes, &total);
        gf_cuda_leave(device, &scope);
    }
    if (result != CUDA_SUCCESS)
        return alloc_failed(api, result, bytes, free_bytes, total, what, why);
    atomic_fetch_add(&device->allocations, 1);
    *address = (void *)memory;
    return GF_OK;
}

gf_status gf_cuda_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    return allocate(device, bytes, address, false, why);
}

gf_status gf_cuda_managed_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    return allocate(device, bytes, address, true, why);
}

gf_status gf_cuda_free(gf_device *base, void *address)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_scope scope;
    if (!address)
        return GF_OK;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        if (!gf_cuda_vmm_free(device, address, &result))
            result = gf_cuda_api_of(device)->cuMemFree_v2((CUdeviceptr)address);
        gf_cuda_leave(device, &scope);
    }
    if (result != CUDA_SUCCESS && !gf_cuda_is_gone(result))
        return gf_cuda_status(result);
    atomic_fetch_sub(&device->allocations, 1);
    return GF_OK;
}

gf_status gf_cuda_host_register(gf_device *base, void *address, size_t bytes, struct gf_reason *why)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    struct gf_cuda_scope scope;
    if (!bytes)
        return refuse_empty(why, "registered");
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = api->cuMemHostRegister_v2(address, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        gf_cuda_leave(device, &scope);
    }
    if (result == CUDA_SUCCESS)
        return GF_OK;
    return gf_cuda_fail(api, result, why, "making %zu bytes of host memory reachable for CUDA device %d", bytes, base->ordinal);
}

gf_status gf_cuda_host_unregister(gf_device *base, void *address)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_scope scope;
    CUresult result = gf_cuda_enter(device, &scope);
    if (result == CUDA_SUCCESS) {
        result = gf_cuda_api_of(device)->cuMemHostUnregister(address);
        gf_cuda_leave(device, &scope);
    }
    return gf_cuda_is_gone(result) ? GF_OK : gf_cuda_status(result);
}

/* Fresh pages, which a forked child does not get: copy-on-write would part the CPU's view of them from the device's. */
static char *map_pages(size_t length)
{
    char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    if (madvise(pages, length, MADV_DONTFORK) == 0)
        return pages;
    munmap(pages, length);
    return NULL;
}

/* Pinned memory is the process's own, registered with the driver, so that it outlives a reset of the device: the words in it
 * that host code polls stay readable. The page before it holds its length. */
gf_status gf_cuda_pinned_alloc(gf_device *base, size_t bytes, void **address, struct gf_reason *why)
{
    *address = NULL;
    if (!bytes)
        return refuse_empty(why, "pinned");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t length = page + (bytes + page - 1) / page * page;
    char *memory = length > bytes ? map_pages(length) : NULL;
    if (!memory) {
        gf_reason_set(why, "no %zu bytes of host memory to pin: free some, or raise the memory limit of this job", bytes);
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_cuda_host_register(base, memory + page, length - page, why);
    if (status != GF_OK) {
        munmap(memory, length);
        return status;
    }
    memcpy(memory, &length, sizeof length);
    atomic_fetch_add(&gf_cuda_device_of(base)->allocations, 1);
    *address = memory + page;
    return GF_OK;
}

gf_status gf_cuda_pinned_free(gf_device *base, void *address)
{
    if (!address)
        return GF_OK;
    gf_status status = gf_cuda_host_unregister(base, address);
    if (status == GF_ERR_INVALID)
        return status;      /* not ours: leave it alone */
    char *memory = (char *)address - sysconf(_SC_PAGESIZE);
    size_t length;
    memcpy(&length, memory, sizeof length);
    munmap(memory, length);
    atomic_fetch_sub(&gf_cuda_device_of(base)->allocations, 1);
    return status;
}

/* Registered host memory may have another address on the device; the driver knows it. */
static void *reach_host(struct gf_cuda_device *device, const void *address)
{
    struct gf_cuda_scope scope;
    CUdeviceptr reached = 0;
    if (gf_cuda_enter(device, &scope) != CUDA_SUCCESS)
        return NULL;
    CUresult result = gf_cuda_api_of(device)->cuPointerGetAttribute(&reached, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                                                    (CUdeviceptr)address);
    gf_cuda_leave(device, &scope);
    return result == CUDA_SUCCESS ? (void *)reached : NULL;
}

/* Asked once or twice a call, so it does without entering the context where it can. Contexts of one GPU have address spaces of
 * their own: memory of another context of the program is out of our kernels' reach. Memory of no context (pools, virtual memory
 * functions) is within reach on its own GPU, and on others where it was given to them. */
void *gf_cuda_kernel_address(gf_device *base, const void *address)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    CUmemorytype type = 0;
    CUcontext owner = NULL;
    int managed = 0, ordinal = -1;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    };
    void *values[] = { &type, &owner, &managed, &ordinal };
    CUresult result = gf_cuda_api_of(device)->cuPointerGetAttributes(sizeof attributes / sizeof attributes[0], attributes, values,
                                                                     (CUdeviceptr)address);
    if (result != CUDA_SUCCESS)
        return NULL;
    if (type == CU_MEMORYTYPE_HOST)
        return reach_host(device, address);
    bool reached = managed || owner == device->context ||
                   (!owner && (ordinal == device->handle || gf_cuda_vmm_reaches(device, address)));
    return type == CU_MEMORYTYPE_DEVICE && reached ? (void *)(uintptr_t)address : NULL;
}
