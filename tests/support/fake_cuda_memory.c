/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake driver's memory: what is where, pointer queries, allocations, registrations, IPC.
 */
#include "tests/support/fake_cuda_private.h"

#include <stdlib.h>
#include <string.h>

enum { MEMORIES = 256 };

static struct fake_range memories[MEMORIES];

struct fake_range *fake_find(CUdeviceptr address)
{
    for (int i = 0; i < MEMORIES; i++) {
        if (memories[i].start && address - (CUdeviceptr)memories[i].start < memories[i].bytes)
            return &memories[i];
    }
    return NULL;
}

struct fake_range *fake_note(void *start, size_t bytes, enum fake_memory kind, bool ours)
{
    struct fake_range *memory = memories;
    while (memory->start)
        memory++;
    *memory = (struct fake_range){
        .start = start, .bytes = bytes, .kind = kind, .id = fake_next_id(), .owner = fake_owner(), .ours = ours,
    };
    return memory;
}

void fake_forget(struct fake_range *memory)
{
    if (memory->ours)
        free(memory->start);
    memory->start = NULL;
}

void fake_forget_all(void)
{
    for (int i = 0; i < MEMORIES; i++) {
        if (memories[i].start)
            fake_forget(&memories[i]);
    }
}

CUdeviceptr fake_make(enum fake_memory kind, size_t bytes)
{
    return (CUdeviceptr)fake_note(calloc(1, bytes), bytes, kind, true)->start;
}

static void answer(CUpointer_attribute which, void *data, struct fake_range *memory)
{
    bool host = memory && memory->kind == FAKE_REGISTERED;
    switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)data = !memory ? 0 : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)data = memory && memory->kind == FAKE_MANAGED; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = !memory ? -2 : memory->kind == FAKE_VMM && fake_cuda()->elsewhere;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(int *)data = memory && memory->kind == FAKE_DEVICE; break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = memory ? (CUdeviceptr)memory->start : 0; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = memory ? memory->bytes : 0; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = memory ? memory->id : 0; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(void **)data = memory && memory->kind == FAKE_POOL ? memory : NULL; break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = memory ? memory->owner : NULL; break;
    default: abort();
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr address)
{
    ENTER(fake_enter_initialised);
    struct fake_range *memory = fake_find(address);
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    if (which != CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
        answer(which, data, memory);
    else if (!fake_cuda()->depth())
        return CUDA_ERROR_INVALID_CONTEXT;
    else
        *(CUdeviceptr *)data = address + (memory->kind == FAKE_REGISTERED ? FAKE_SHIFT : 0);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *which, void **data, CUdeviceptr address)
{
    ENTER(fake_enter_initialised);
    struct fake_range *memory = fake_find(address);
    for (unsigned i = 0; i < count; i++)
        answer(which[i], data[i], memory);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER(fake_enter_context);
    *available = 1ull << 30;
    *total = 4ull << 30;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)
{
    ENTER(fake_enter_context);
    *memory = fake_make(FAKE_DEVICE, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *memory, size_t bytes, CUstream stream)
{
    ENTER(fake_enter_context);
    if (stream != CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_VALUE;
    *memory = fake_make(FAKE_POOL, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *memory, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(fake_enter_context);
    *memory = fake_make(FAKE_MANAGED, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find(address);
    if (!memory || (CUdeviceptr)memory->start != address)
        return CUDA_ERROR_INVALID_VALUE;
    fake_forget(memory);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(fake_enter_context);
    if (fake_find((CUdeviceptr)address))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    fake_note(address, bytes, FAKE_REGISTERED, false);
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *address)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find((CUdeviceptr)address);
    if (!memory || memory->kind != FAKE_REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    fake_forget(memory);
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    ENTER(fake_enter_context);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &address, sizeof address);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    (void)handle;
    (void)flags;
    ENTER(fake_enter_context);
    if (fake_cuda()->maps_once && fake_cuda()->mappings > 0)
        return CUDA_ERROR_ALREADY_MAPPED;
    *address = fake_make(FAKE_IMPORTED, 4096);
    fake_cuda()->mappings++;
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find(address);
    if (!memory || memory->kind != FAKE_IMPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    fake_forget(memory);
    fake_cuda()->mappings--;
    return CUDA_SUCCESS;
}
