/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Items as LL lines: every eight bytes of data become a line of 16 that carries its own flags, so the receiver polls the
 * data itself. Line i of a slot holds bytes [8 i, 8 i + 8).
 */
#ifndef GF_KERNELS_LL_H
#define GF_KERNELS_LL_H

#include "kernels/fifo.h"
#include "kernels/simple.h"

enum {
    GF_ITEM_LINES = GF_ITEM_BYTES / 8,
    GF_ITEM_LL_BYTES = GF_ITEM_LINES * GF_LL_LINE
};

/* The flag of an epoch: never 0, for slots start zeroed. */
GF_INLINE uint32_t gf_ll_flag(uint32_t epoch)
{
    return epoch & GF_LL_EPOCH_LAST;
}

/* The lines of an item of which `bytes` bytes are valid; at least one, so that also an empty item tells its epoch. */
GF_INLINE uint32_t gf_item_lines(uint32_t bytes)
{
    return bytes == 0 ? 1 : (bytes + 7) / 8;
}

GF_INLINE void gf_store_ll_item(const struct gf_team *team, char *lines, union gf_item item, uint32_t count, uint32_t flag)
{
    GF_UNROLL
    for (uint32_t i = 0; i < GF_ITEM_LINES; i++)
        if (i < count)
            gf_store_ll_line(team, lines + i * GF_LL_LINE, item.u64[i], flag);
}

/* True if all its lines have arrived. */
GF_INLINE bool gf_load_ll_item(const char *lines, union gf_item *item, uint32_t count, uint32_t flag)
{
    bool arrived = true;
    GF_UNROLL
    for (uint32_t i = 0; i < GF_ITEM_LINES; i++)
        if (i < count)
            arrived &= gf_load_ll_line(lines + i * GF_LL_LINE, &item->u64[i], flag);
    return arrived;
}

#endif
