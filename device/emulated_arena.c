/* SPDX-License-Identifier: BSD-3-Clause
 *
 * First fit over a sorted array of allocations: simple, and an address is used again at once, which is what finds those who
 * rely on old addresses.
 */
#include "device/emulated_arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uintptr_t pages_end(const struct gf_range *range)
{
    return gf_range_pages(range) + gf_range_pages_bytes(range);
}

/* Where the gap in front of range number i begins. */
static uintptr_t gap_start(const struct gf_arena *arena, size_t i)
{
    return i == 0 ? arena->base : pages_end(&arena->ranges[i - 1]);
}

static size_t gap_bytes(const struct gf_arena *arena, size_t i)
{
    uintptr_t end = i == arena->count ? arena->base + arena->bytes : gf_range_guard(&arena->ranges[i]);
    return end - gap_start(arena, i);
}

/* The number of ranges that start at or below the address. */
static size_t count_below(const struct gf_arena *arena, uintptr_t address)
{
    size_t low = 0, high = arena->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (arena->ranges[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool make_room(struct gf_arena *arena)
{
    if (arena->count < arena->room) {
        return true;
    }
    size_t room = arena->room ? 2 * arena->room : 64;
    struct gf_range *ranges = realloc(arena->ranges, room * sizeof *ranges);
    if (!ranges) {
        return false;
    }
    arena->ranges = ranges;
    arena->room = room;
    return true;
}

gf_status gf_arena_take(struct gf_arena *arena, size_t bytes, uint64_t buffer_id, struct gf_range *range)
{
    if (bytes > arena->bytes || !make_room(arena)) {
        return GF_ERR_NO_MEMORY;
    }
    size_t aligned = (bytes + arena->alignment - 1) / arena->alignment * arena->alignment;
    size_t pages = (aligned + GF_ARENA_PAGE - 1) / GF_ARENA_PAGE * GF_ARENA_PAGE;
    size_t i = 0;
    while (i <= arena->count && gap_bytes(arena, i) < GF_ARENA_PAGE + pages) {
        i++;
    }
    if (i > arena->count) {
        return GF_ERR_NO_MEMORY;
    }
    *range = (struct gf_range){
        .start = gap_start(arena, i) + GF_ARENA_PAGE + (pages - aligned),
        .bytes = bytes,
        .buffer_id = buffer_id,
    };
    memmove(&arena->ranges[i + 1], &arena->ranges[i], (arena->count - i) * sizeof *arena->ranges);
    arena->ranges[i] = *range;
    arena->count++;
    return GF_OK;
}

const struct gf_range *gf_arena_find(const struct gf_arena *arena, uintptr_t address)
{
    size_t below = count_below(arena, address);
    if (below == 0) {
        return NULL;
    }
    const struct gf_range *range = &arena->ranges[below - 1];
    return address - range->start < range->bytes ? range : NULL;
}

void gf_arena_mark(struct gf_arena *arena, uintptr_t start, int mark)
{
    const struct gf_range *range = gf_arena_find(arena, start);
    if (range && range->start == start) {
        arena->ranges[range - arena->ranges].mark = mark;
    }
}

gf_status gf_arena_give(struct gf_arena *arena, uintptr_t start)
{
    const struct gf_range *range = gf_arena_find(arena, start);
    if (!range || range->start != start) {
        return GF_ERR_INVALID;
    }
    size_t i = (size_t)(range - arena->ranges);
    memmove(&arena->ranges[i], &arena->ranges[i + 1], (arena->count - i - 1) * sizeof *arena->ranges);
    arena->count--;
    return GF_OK;
}

void gf_arena_free(const struct gf_arena *arena, size_t *bytes, size_t *largest)
{
    *bytes = *largest = 0;
    for (size_t i = 0; i <= arena->count; i++) {
        size_t gap = gap_bytes(arena, i);
        size_t usable = gap > GF_ARENA_PAGE ? gap - GF_ARENA_PAGE : 0;
        *bytes += usable;
        *largest = usable > *largest ? usable : *largest;
    }
}
