/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where an address lives. Which addresses are plain host memory for certain is known without asking the device's driver: a
 * query costs about a microsecond on CUDA, and a host-only collective of 8 bytes may not lose even 2 % of its time.
 *
 *   - the program's static data, the brk heap, and the main thread's stack above the caller's frame are never device memory;
 *   - pages of 4 KiB of these ranges, and others that the driver did not know when asked and that could be read, are remembered
 *     in a small table until the process gives them back (munmap, mremap, brk, MAP_FIXED …), of which Open MPI's memory
 *     hooks tell us.
 *
 * A remembered page cannot be stale: device memory appears at an address only after the host mapping there was released, and
 * the release is announced first. `generation` closes the window between asking the driver and remembering the answer.
 *
 * Threads: all functions from any thread, at once; forget also from inside munmap and free: it takes no lock and no memory.
 */
#ifndef GF_MCA_HOST_MEMORY_H
#define GF_MCA_HOST_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

enum {
    GF_HOST_PAGE_SHIFT = 12,     /* no two kinds of memory share 4 KiB */
    GF_HOST_PAGES = 1024         /* a power of two */
};

/* Owner: the component. Ranges are written by open only. */
struct gf_host_memory {
    uintptr_t image_low, image_high;     /* the program's segments; equal: unknown */
    uintptr_t heap_low;                  /* where the brk heap begins; 0: unknown */
    uintptr_t stack_low, stack_high;     /* the top of the main thread's stack; equal: unknown */
    bool remembers;                      /* releases are announced: pages may be remembered */
    _Atomic uint64_t generation;         /* of announcements */
    _Atomic uintptr_t pages[GF_HOST_PAGES];   /* page numbers, by their low bits; see learn */
};

/* Finds the ranges. remembers: gf_host_memory_forget will be called before any memory of this process is released. */
void gf_host_memory_open(struct gf_host_memory *memory, bool remembers);

/* Read it before the driver is asked, and hand it to learn with the answer "the driver does not know this address". */
static inline uint64_t gf_host_memory_generation(const struct gf_host_memory *memory)
{
    return atomic_load(&memory->generation);
}

/* The page of this address is in a range, or readable and unknown to the driver. */
void gf_host_memory_learn(struct gf_host_memory *memory, const void *address, uint64_t generation);

/* These bytes are about to be released. */
void gf_host_memory_forget(struct gf_host_memory *memory, const void *start, size_t bytes);

/* Can this process read this address at all? Asks the kernel (about 0.1 µs), touches nothing. */
bool gf_host_memory_readable(const void *address);

/* Is the address on a remembered page? The fast answer: one load. */
static inline bool gf_host_memory_remembers(const struct gf_host_memory *memory, const void *address)
{
    uintptr_t page = (uintptr_t)address >> GF_HOST_PAGE_SHIFT;

    return atomic_load_explicit(&memory->pages[page % GF_HOST_PAGES], memory_order_acquire) == page;
}

/* Where an address lives, with one query of the driver at most. Host memory is learnt. For device memory *info is complete,
 * else it has the kind at least. True exactly if host code must not touch the address: device memory, or what no longer
 * exists. Addresses in the first page (null, MPI_BOTTOM, MPI_IN_PLACE) count as host memory. */
bool gf_host_memory_locate(struct gf_host_memory *memory, gf_driver *driver, const void *address, struct gf_pointer *info);

/* The same, but always asks the driver, so that *info is complete. GF_ERR_INVALID with a sentence for an address without
 * memory. */
gf_status gf_host_memory_query(struct gf_host_memory *memory, gf_driver *driver, const void *address, struct gf_pointer *info,
                               struct gf_reason *why);

#endif
