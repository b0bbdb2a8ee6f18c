/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer lives, for this component's driver.
 */
#include "mca_coll_gpufifo/memory_kind.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/stage_layout.h"

bool gf_memory_locate(const void *address, struct gf_pointer *info)
{
    return gf_host_memory_locate(&mca_coll_gpufifo_component.host_memory, mca_coll_gpufifo_component.driver, address, info);
}

bool gf_memory_locate_any(const struct gf_layout *layout, struct gf_pointer *info)
{
    struct gf_block_list list = {0};
    struct gf_reason ignored;
    bool found = false;

    if (gf_layout_list(layout, &list, &ignored) == GF_OK) {
        for (size_t i = 0; i < list.count && !found; i++) {
            found = gf_memory_locate(gf_layout_address(MPI_BOTTOM, list.blocks[i].offset), info);
        }
    }
    free(list.blocks);
    return found;
}

gf_status gf_memory_query(const void *address, struct gf_pointer *info, struct gf_reason *why)
{
    return gf_host_memory_query(&mca_coll_gpufifo_component.host_memory, mca_coll_gpufifo_component.driver, address, info, why);
}

/* Bytes from there to the end of the allocation. */
static size_t room_from(const struct gf_pointer *where, const char *at)
{
    return where->size - (size_t)(at - (const char *)where->base);
}

bool gf_memory_holds(const struct gf_pointer *where, const void *start, size_t bytes, struct gf_reason *why)
{
    const char *at = start;
    size_t room = room_from(where, at);
    struct gf_pointer next;

    for (size_t left = bytes; left > room; room = room_from(&next, at)) {
        left -= room;
        at += room;
        if (gf_memory_query(at, &next, NULL) != GF_OK || next.kind != GF_MEMORY_DEVICE) {
            gf_reason_set(why, "the buffer at %p has %zu bytes up to the end of its allocation, but the call needs %zu: pass the "
                               "right count or allocate more", start, bytes - left, bytes);
            return false;
        }
    }
    return true;
}
