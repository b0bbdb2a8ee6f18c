/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which parts of a span of addresses are handed out. Numbers only: the owner maps, protects and locks.
 *
 * Each allocation has whole pages of its own behind a guard page that belongs to it too; it ends at the end of its last page,
 * as far as its alignment allows, so that running over it soon hits the guard page of the next.
 */
#ifndef GF_DEVICE_EMULATED_ARENA_H
#define GF_DEVICE_EMULATED_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GF_ARENA_PAGE = 4096, GF_ARENA_ALIGNMENT = 256 };

struct gf_range {
    uintptr_t start;           /* a multiple of the alignment asked for */
    size_t bytes;              /* as asked, never 0 */
    uint64_t buffer_id;        /* the owner's; see gf_pointer */
    int mark;                  /* the owner's; 0 at first */
};

/* The guard page in front of the range, and its pages. */
static inline uintptr_t gf_range_guard(const struct gf_range *range)
{
    return range->start / GF_ARENA_PAGE * GF_ARENA_PAGE - GF_ARENA_PAGE;
}

static inline uintptr_t gf_range_pages(const struct gf_range *range)
{
    return range->start / GF_ARENA_PAGE * GF_ARENA_PAGE;
}

static inline size_t gf_range_pages_bytes(const struct gf_range *range)
{
    uintptr_t end = (range->start + range->bytes + GF_ARENA_PAGE - 1) / GF_ARENA_PAGE * GF_ARENA_PAGE;
    return end - gf_range_pages(range);
}

/* Owned and locked by whoever holds it. ranges is sorted by address. */
struct gf_arena {
    uintptr_t base;            /* page-aligned */
    size_t bytes;              /* whole pages */
    size_t alignment;          /* of every allocation: a power of two up to a page */
    struct gf_range *ranges;
    size_t count, room;
};

/* True if the address lies in the span, whether handed out or not. */
static inline int gf_arena_spans(const struct gf_arena *arena, uintptr_t address)
{
    return address - arena->base < arena->bytes;
}

/* Takes the first place that fits. bytes ≥ 1. GF_ERR_NO_MEMORY without a reason: gf_arena_free tells the figures. */
gf_status gf_arena_take(struct gf_arena *arena, size_t bytes, uint64_t buffer_id, struct gf_range *range);

/* The allocation that holds this address, or null. Valid until the next take or give. */
const struct gf_range *gf_arena_find(const struct gf_arena *arena, uintptr_t address);

/* Marks the allocation that starts here, if there is one. */
void gf_arena_mark(struct gf_arena *arena, uintptr_t start, int mark);

/* Gives back the allocation that starts here; GF_ERR_INVALID if there is none. */
gf_status gf_arena_give(struct gf_arena *arena, uintptr_t start);

/* Bytes that are free, guard pages deducted, and the largest allocation that would fit. */
void gf_arena_free(const struct gf_arena *arena, size_t *bytes, size_t *largest);

#endif
