/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake driver's virtual memory functions. Physical memory is a memfd, so a descriptor of it maps it in another process, too.
 */
#define _GNU_SOURCE 1   /* memfd_create */
#include "tests/support/fake_cuda_private.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANULARITY = 2 << 20 };

struct fake_physical {
    int fd;
    size_t bytes;
    int references;              /* handles and mappings */
    unsigned types;              /* of handles that it can be exported as */
};

static struct fake_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    return (struct fake_physical *)(uintptr_t)handle;
}

static CUresult hold(int fd, size_t bytes, unsigned types, CUmemGenericAllocationHandle *handle)
{
    struct fake_physical *physical = malloc(sizeof *physical);
    *physical = (struct fake_physical){ .fd = fd, .bytes = bytes, .references = 1, .types = types };
    fake_cuda()->physicals++;
    *handle = (uintptr_t)physical;
    return CUDA_SUCCESS;
}

static void let_go(struct fake_physical *physical)
{
    if (--physical->references > 0)
        return;
    close(physical->fd);
    free(physical);
    fake_cuda()->physicals--;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *wanted, CUmemAllocationGranularity_flags which)
{
    (void)wanted;
    (void)which;
    ENTER(fake_enter_initialised);
    *bytes = GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *wanted,
                     unsigned long long flags)
{
    ENTER(fake_enter_initialised);
    if (bytes % GRANULARITY || flags || wanted->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return hold(fd, bytes, (unsigned)wanted->requestedHandleTypes, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ENTER(fake_enter_initialised);
    let_go(physical_of(handle));
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *start, size_t bytes, size_t alignment, CUdeviceptr wanted, unsigned long long flags)
{
    ENTER(fake_enter_initialised);
    if (bytes % GRANULARITY || alignment || wanted || flags)
        return CUDA_ERROR_INVALID_VALUE;
    void *addresses = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fake_cuda()->reservations++;
    *start = (CUdeviceptr)addresses;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr start, size_t bytes)
{
    ENTER(fake_enter_initialised);
    if (fake_find(start) || munmap((void *)start, bytes) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda()->reservations--;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr start, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct fake_physical *physical = physical_of(handle);
    ENTER(fake_enter_initialised);
    if (offset || flags || bytes > physical->bytes || fake_find(start))
        return CUDA_ERROR_INVALID_VALUE;
    if (mmap((void *)start, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->fd, 0) == MAP_FAILED)
        return CUDA_ERROR_MAP_FAILED;
    struct fake_range *range = fake_note((void *)start, bytes, FAKE_VMM, false);
    range->owner = NULL;
    range->physical = physical;
    physical->references++;
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr start, size_t bytes)
{
    ENTER(fake_enter_initialised);
    struct fake_range *range = fake_find(start);
    if (!range || range->kind != FAKE_VMM || range->bytes != bytes || (CUdeviceptr)range->start != start)
        return CUDA_ERROR_INVALID_VALUE;
    mmap((void *)start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    let_go(range->physical);
    fake_forget(range);
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr start, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    ENTER(fake_enter_initialised);
    if (count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE || access->location.id != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return mprotect((void *)start, bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    ENTER(fake_enter_initialised);
    struct fake_range *range = fake_find(address);
    if (!range || range->kind != FAKE_VMM)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == 0 && !fake_cuda()->no_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    ENTER(fake_enter_initialised);
    struct fake_range *range = fake_find((CUdeviceptr)address);
    if (!range || range->kind != FAKE_VMM)
        return CUDA_ERROR_INVALID_VALUE;
    range->physical->references++;
    *handle = (uintptr_t)range->physical;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *fd, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags)
{
    ENTER(fake_enter_initialised);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!(physical_of(handle)->types & (unsigned)type))
        return CUDA_ERROR_NOT_PERMITTED;
    *(int *)fd = fcntl(physical_of(handle)->fd, F_DUPFD_CLOEXEC, 0);
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *fd, CUmemAllocationHandleType type)
{
    struct stat status;
    ENTER(fake_enter_initialised);
    int own = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? fcntl((int)(uintptr_t)fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (own < 0 || fstat(own, &status) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return hold(own, (size_t)status.st_size, (unsigned)type, handle);
}

#if CUDA_VERSION < 11070
typedef int CUmemRangeHandleType;
#endif

/* The file of a range is as long as that and begins with its address. Memory of a pool has none. */
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr start, size_t bytes, CUmemRangeHandleType type,
                                       unsigned long long flags)
{
    ENTER(fake_enter_context);
    struct fake_range *memory = fake_find(start);
    if (start % 4096 || bytes % 4096 || type != 1 || flags || !memory)
        return CUDA_ERROR_INVALID_VALUE;
    if (memory->kind == FAKE_POOL)
        return CUDA_ERROR_NOT_SUPPORTED;
    int fd = memfd_create("fake-dmabuf", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || pwrite(fd, &start, sizeof start, 0) != sizeof start)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *(int *)handle = fd;
    return CUDA_SUCCESS;
}
