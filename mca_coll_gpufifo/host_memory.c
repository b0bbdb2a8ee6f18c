/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which addresses are plain host memory for certain; the rules are in the header.
 */
#define _GNU_SOURCE
#include "mca_coll_gpufifo/host_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The stack's mapping grows on demand. Linux keeps at least 128 MiB below its top free of other mappings (MIN_GAP in mm/util.c), so
 * a frame less than half of that below the top is on the main thread's stack, and so is everything above it. */
#define STACK_ROOM ((uintptr_t)64 << 20)

/* The first object that the loader lists is the program itself. */
static int note_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct gf_host_memory *memory = ctx;
    (void)size;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD) {
            continue;
        }
        uintptr_t low = info->dlpi_addr + segment->p_vaddr;
        if (memory->image_low == 0 || low < memory->image_low) {
            memory->image_low = low;
        }
        if (low + segment->p_memsz > memory->image_high) {
            memory->image_high = low + segment->p_memsz;
        }
    }
    return 1;
}

/* The kernel marks both in the list of mappings; a name that is missing leaves its range unknown. */
static void note_heap_and_stack(struct gf_host_memory *memory)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    if (!maps) {
        return;
    }
    while (fgets(line, sizeof(line), maps)) {
        uintptr_t low, high;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &low, &high) != 2) {
            continue;
        }
        if (strstr(line, "[heap]") && memory->heap_low == 0) {
            memory->heap_low = low;
        } else if (strstr(line, "[stack]") && high > STACK_ROOM) {
            memory->stack_low = high - STACK_ROOM;
            memory->stack_high = high;
        }
    }
    fclose(maps);
}

void gf_host_memory_open(struct gf_host_memory *memory, bool remembers)
{
    memset(memory, 0, sizeof(*memory));
    memory->remembers = remembers;
    dl_iterate_phdr(note_program, memory);
    note_heap_and_stack(memory);
}

bool gf_host_memory_contains(const struct gf_host_memory *memory, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    if (at - memory->image_low < memory->image_high - memory->image_low) {
        return true;
    }
    if (at >= frame && at < memory->stack_high && frame >= memory->stack_low) {
        return true;
    }
    return memory->heap_low != 0 && at >= memory->heap_low && at < (uintptr_t)sbrk(0);
}

void gf_host_memory_learn(struct gf_host_memory *memory, const void *address, uint64_t generation)
{
    uintptr_t page = (uintptr_t)address >> GF_HOST_PAGE_SHIFT;
    _Atomic uintptr_t *slot = &memory->pages[page % GF_HOST_PAGES];

    if (!memory->remembers) {
        return;
    }
    atomic_store(slot, page);
    /* forget counts first and clears then: either it sees our page, or we see its count. */
    if (atomic_load(&memory->generation) != generation) {
        atomic_compare_exchange_strong(slot, &page, 0);
    }
}

void gf_host_memory_forget(struct gf_host_memory *memory, const void *start, size_t bytes)
{
    uintptr_t first = (uintptr_t)start >> GF_HOST_PAGE_SHIFT;
    uintptr_t last = ((uintptr_t)start + (bytes ? bytes - 1 : 0)) >> GF_HOST_PAGE_SHIFT;
    uintptr_t count = last - first < GF_HOST_PAGES ? last - first + 1 : GF_HOST_PAGES;

    atomic_fetch_add(&memory->generation, 1);
    for (uintptr_t i = 0; i < count; i++) {
        _Atomic uintptr_t *slot = &memory->pages[(first + i) % GF_HOST_PAGES];
        uintptr_t page = atomic_load(slot);
        if (page >= first && page <= last) {
            atomic_compare_exchange_strong(slot, &page, 0);
        }
    }
}

/* The kernel copies the set in before it looks at `how`, which is no valid one: EFAULT if it cannot be read, else EINVAL.
 * The set is 8 bytes; aligned, it lies within one page. */
bool gf_host_memory_readable(const void *address)
{
    const void *aligned = (const void *)((uintptr_t)address & ~(uintptr_t)7);
    int saved = errno;
    bool readable = syscall(SYS_rt_sigprocmask, -1, aligned, NULL, 8) == 0 || errno != EFAULT;

    errno = saved;
    return readable;
}
