/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From flat datatypes and addresses to the parts that the pack kernels take (kernels/pack.h). Pure functions.
 */
#ifndef GF_CORE_PACK_PLAN_H
#define GF_CORE_PACK_PLAN_H

#include "core/flat.h"
#include "kernels/work.h"

/* What is copied: the first `bytes` of `count` elements. Kernel addresses; at an end that is not packed, that of the first
 * element, which may lie outside of all memory: only its data are touched. */
struct gf_pack_copy {
    char *to;
    const char *from;
    bool to_packed, from_packed;     /* there the data follow one another, as MPI_Pack puts them */
    uint64_t count;                  /* at least 1 */
    uint64_t bytes;                  /* 1 to count * flat->bytes */
    const void *list;                /* where kernels find flat->list, if it has one */
};

/* first_tile is 0. */
struct gf_pack_part gf_pack_plan_part(const struct gf_flat *flat, const struct gf_pack_copy *copy);

/* Is it a copy of one block to one place? A copy engine does it, too: part.words * part.word bytes. */
static inline bool gf_pack_part_is_run(const struct gf_pack_part *part)
{
    return !part->offsets && (part->dims == 0 || part->words <= part->block.value);
}

static inline uint64_t gf_pack_part_tiles(const struct gf_pack_part *part)
{
    return (part->words + GF_PACK_TILE - 1) / GF_PACK_TILE;
}

/* Thread blocks for so many tiles on a device that runs so many at once. */
int gf_pack_plan_blocks(uint64_t tiles, int device_blocks);

/* Of a value of at least 1. */
struct gf_divisor gf_divisor_of(uint64_t value);

#endif
