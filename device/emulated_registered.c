/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of registered host memory. See the header for how readers and writers meet.
 */
#include "device/emulated_registered.h"

/* Consistent bounds of one entry, or false if it is free or changing. */
static bool read_entry(struct gf_registered_entry *entry, struct gf_registered_range *range)
{
    uint64_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
    uintptr_t start = atomic_load_explicit(&entry->start, memory_order_acquire);
    uintptr_t end = atomic_load_explicit(&entry->end, memory_order_acquire);
    if (id == 0 || atomic_load_explicit(&entry->id, memory_order_relaxed) != id) {
        return false;
    }
    *range = (struct gf_registered_range){.start = start, .bytes = end - start, .id = id};
    return true;
}

gf_status gf_registered_add(struct gf_registered *registered, uintptr_t start, size_t bytes, uint64_t id, struct gf_reason *why)
{
    size_t used = atomic_load_explicit(&registered->used, memory_order_relaxed);
    size_t place = used;
    struct gf_registered_range range;

    for (size_t i = 0; i < used; i++) {
        if (!read_entry(&registered->entries[i], &range)) {
            place = i;
        } else if (start < range.start + range.bytes && range.start < start + bytes) {
            gf_reason_set(why, "the host memory at %p overlaps memory that is registered already: unregister that first",
                          (void *)start);
            return GF_ERR_INVALID;
        }
    }
    if (place == GF_REGISTERED_ROOM) {
        gf_reason_set(why, "%d ranges of host memory are registered with the emulated device, which is all it has room for: "
                      "unregister what is not used", GF_REGISTERED_ROOM);
        return GF_ERR_NO_MEMORY;
    }
    struct gf_registered_entry *entry = &registered->entries[place];
    atomic_store_explicit(&entry->start, start, memory_order_release);
    atomic_store_explicit(&entry->end, start + bytes, memory_order_release);
    atomic_store_explicit(&entry->id, id, memory_order_release);
    if (place == used) {
        atomic_store_explicit(&registered->used, used + 1, memory_order_release);
    }
    return GF_OK;
}

gf_status gf_registered_remove(struct gf_registered *registered, uintptr_t start)
{
    size_t used = atomic_load_explicit(&registered->used, memory_order_relaxed);
    struct gf_registered_range range;

    for (size_t i = 0; i < used; i++) {
        if (read_entry(&registered->entries[i], &range) && range.start == start) {
            atomic_store_explicit(&registered->entries[i].id, 0, memory_order_release);
            return GF_OK;
        }
    }
    return GF_ERR_INVALID;
}

bool gf_registered_find(struct gf_registered *registered, uintptr_t address, struct gf_registered_range *range)
{
    size_t used = atomic_load_explicit(&registered->used, memory_order_acquire);

    for (size_t i = 0; i < used; i++) {
        if (read_entry(&registered->entries[i], range) && address - range->start < range->bytes) {
            return true;
        }
    }
    return false;
}
