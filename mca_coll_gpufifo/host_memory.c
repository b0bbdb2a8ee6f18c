/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where an address lives: first what is host memory for certain, then the driver. The rules are in the header.
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

/* Nobody has memory in the first page. */
#define FIRST_PAGE 4096u

/* Marks an entry that is not confirmed; no page number has this bit. */
#define CANDIDATE ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))

/* A cleared entry: equal to no page number, page 0 included, where null is. */
#define EMPTY CANDIDATE

/* The stack's mapping grows on demand. Linux keeps at least 128 MiB below its top free of other mappings (MIN_GAP in
 * mm/util.c), so a frame less than half of that below the top is on the main thread's stack, and so is everything above it. */
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
    memory->pages[0] = EMPTY;
    dl_iterate_phdr(note_program, memory);
    note_heap_and_stack(memory);
}

/* Where the C library has the end of the brk heap; not every one has this. */
extern void *__curbrk __attribute__((weak));

/* The end of the brk heap. Not by sbrk(0): where UCX is loaded that is UCX's own, which sets the end to what it has read just
 * before, and so takes away the memory that another thread's malloc has got in between. */
static uintptr_t heap_end(void)
{
    return &__curbrk ? (uintptr_t)__atomic_load_n(&__curbrk, __ATOMIC_RELAXED) : (uintptr_t)syscall(SYS_brk, 0);
}

/* Does it lie in one of the ranges? */
static bool contains(const struct gf_host_memory *memory, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    if (at - memory->image_low < memory->image_high - memory->image_low) {
        return true;
    }
    if (at >= frame && at < memory->stack_high && frame >= memory->stack_low) {
        return true;
    }
    return memory->heap_low != 0 && at >= memory->heap_low && at < heap_end();
}

/* A page is entered as a candidate first, which remembers nothing yet, and confirmed if nothing was released meanwhile. forget
 * counts first and clears then, candidates too: it clears ours, or we see its count. */
void gf_host_memory_learn(struct gf_host_memory *memory, const void *address, uint64_t generation)
{
    uintptr_t page = (uintptr_t)address >> GF_HOST_PAGE_SHIFT, candidate = page | CANDIDATE;
    _Atomic uintptr_t *slot = &memory->pages[page % GF_HOST_PAGES];

    if (!memory->remembers) {
        return;
    }
    atomic_store(slot, candidate);
    atomic_compare_exchange_strong(slot, &candidate, atomic_load(&memory->generation) == generation ? page : EMPTY);
}

void gf_host_memory_forget(struct gf_host_memory *memory, const void *start, size_t bytes)
{
    uintptr_t first = (uintptr_t)start >> GF_HOST_PAGE_SHIFT;
    uintptr_t last = ((uintptr_t)start + (bytes ? bytes - 1 : 0)) >> GF_HOST_PAGE_SHIFT;
    uintptr_t count = last - first < GF_HOST_PAGES ? last - first + 1 : GF_HOST_PAGES;

    atomic_fetch_add(&memory->generation, 1);
    for (uintptr_t i = 0; i < count; i++) {
        _Atomic uintptr_t *slot = &memory->pages[(first + i) % GF_HOST_PAGES];
        uintptr_t entry = atomic_load(slot);
        while ((entry & ~CANDIDATE) >= first && (entry & ~CANDIDATE) <= last &&
               !atomic_compare_exchange_weak(slot, &entry, EMPTY)) {
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

/* The driver's answer, completed: an address that it does not know and that nobody can read was device memory once, for a
 * driver keeps its address range when memory is freed. */
static gf_status ask_driver(struct gf_host_memory *memory, gf_driver *driver, const void *address, struct gf_pointer *info)
{
    uint64_t generation = gf_host_memory_generation(memory);
    gf_status status = gf_driver_pointer(driver, address, info);

    if (status != GF_OK || info->kind != GF_MEMORY_HOST) {
        return status;
    }
    if (gf_host_memory_readable(address)) {
        gf_host_memory_learn(memory, address, generation);
    } else {
        info->kind = GF_MEMORY_INVALID;
    }
    return GF_OK;
}

static bool is_certainly_host(struct gf_host_memory *memory, const void *address)
{
    uint64_t generation = gf_host_memory_generation(memory);

    if ((uintptr_t)address < FIRST_PAGE || gf_host_memory_remembers(memory, address)) {
        return true;
    }
    if (!contains(memory, address)) {
        return false;
    }
    gf_host_memory_learn(memory, address, generation);
    return true;
}

/* If the driver cannot answer, host code must not be let loose on the address: the call will fail with the driver's reason. */
bool gf_host_memory_locate(struct gf_host_memory *memory, gf_driver *driver, const void *address, struct gf_pointer *info)
{
    *info = (struct gf_pointer){.kind = GF_MEMORY_HOST, .ordinal = -1};
    if (is_certainly_host(memory, address)) {
        return false;
    }
    return ask_driver(memory, driver, address, info) != GF_OK || info->kind == GF_MEMORY_DEVICE ||
           info->kind == GF_MEMORY_INVALID;
}

gf_status gf_host_memory_query(struct gf_host_memory *memory, gf_driver *driver, const void *address, struct gf_pointer *info,
                               struct gf_reason *why)
{
    gf_status status;

    *info = (struct gf_pointer){.kind = GF_MEMORY_HOST, .ordinal = -1};
    if ((uintptr_t)address < FIRST_PAGE) {
        return GF_OK;
    }
    status = ask_driver(memory, driver, address, info);
    if (status != GF_OK) {
        gf_reason_set(why, "the %s driver cannot say what memory is at %p (%s)", driver->ops->name, address,
                      gf_status_string(status));
        return status;
    }
    if (info->kind == GF_MEMORY_INVALID) {
        gf_reason_set(why, "the buffer at %p is no memory of this process; it may be device memory that was freed: "
                      "pass a buffer that is allocated", address);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}
