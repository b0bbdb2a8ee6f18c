/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a pack kernel's work: dimensions joined where they run on, and everything in the widest words that fit.
 */
#include "core/pack_plan.h"

/* As large as the multiplier allows; quotients by more are 0 in what is computed with it. */
#define MOST_DIVISOR ((uint64_t)1 << 31)

struct gf_divisor gf_divisor_of(uint64_t value)
{
    struct gf_divisor divisor = {.value = value, .shift = 31};
    uint64_t small = value < MOST_DIVISOR ? value : MOST_DIVISOR;

    while ((uint64_t)1 << (divisor.shift - 31) < small) {
        divisor.shift++;
    }
    divisor.multiplier = (uint32_t)((((uint64_t)1 << divisor.shift) + small - 1) / small);
    return divisor;
}

/* All dimensions of a strided layout, bytes. */
struct shape {
    uint64_t block;
    uint32_t dims;
    struct gf_flat_dim dim[GF_PACK_DIMS];
};
_Static_assert(GF_PACK_DIMS == GF_FLAT_DIMS + 1, "elements are one dimension more");

/* The elements are the outermost dimension, unless they go on where the one before ends. */
static struct shape shape_of(const struct gf_flat *flat, uint64_t count)
{
    struct shape shape = {.block = flat->block, .dims = flat->dims};

    for (uint32_t d = 0; d < flat->dims; d++) {
        shape.dim[d] = flat->dim[d];
    }
    if (count == 1) {
        return shape;
    }
    if (shape.dims == 0 && flat->extent == (int64_t)shape.block) {
        shape.block *= count;
    } else if (shape.dims > 0 && flat->extent == (int64_t)shape.dim[shape.dims - 1].count * shape.dim[shape.dims - 1].stride) {
        shape.dim[shape.dims - 1].count *= count;
    } else {
        shape.dim[shape.dims++] = (struct gf_flat_dim){count, flat->extent};
    }
    return shape;
}

/* The widest word of which all these are multiples. */
static uint32_t word_of(uint64_t bits)
{
    bits |= 16;
    return (uint32_t)(bits & -bits);
}

static void lay_out_strided(struct gf_pack_part *part, const struct shape *shape)
{
    part->block = gf_divisor_of(shape->block / part->word);
    part->dims = shape->dims;
    for (uint32_t d = 0; d < shape->dims; d++) {
        part->stride[d] = shape->dim[d].stride;
        if (d + 1 < shape->dims) {
            part->count[d] = gf_divisor_of(shape->dim[d].count);
        }
    }
}

static uint64_t bits_of(const struct shape *shape)
{
    uint64_t bits = shape->block;

    for (uint32_t d = 0; d < shape->dims; d++) {
        bits |= (uint64_t)shape->dim[d].stride;
    }
    return bits;
}

/* An array of the list, where kernels have it. */
static const void *on_device(const struct gf_flat_list *list, const void *array, const void *device)
{
    return array ? (const char *)device + ((const char *)array - (const char *)list->offsets) : NULL;
}

static void lay_out_list(struct gf_pack_part *part, const struct gf_flat *flat, const void *list)
{
    part->offsets = list;
    part->starts = on_device(&flat->list, flat->list.starts, list);
    part->hints = on_device(&flat->list, flat->list.hints, list);
    part->hint_shift = flat->list.hint_shift;
    part->extent = flat->extent;
    part->element = gf_divisor_of(flat->bytes / part->word);
    if (flat->block > 0) {
        part->block = gf_divisor_of(flat->block / part->word);
    }
}

struct gf_pack_part gf_pack_plan_part(const struct gf_flat *flat, const struct gf_pack_copy *copy)
{
    struct gf_pack_part part = {
        .to = copy->to, .from = copy->from, .to_packed = copy->to_packed, .from_packed = copy->from_packed,
    };
    struct shape shape = {0};
    uint64_t bits;

    if (flat->list.offsets) {
        bits = flat->list.bits | (copy->count > 1 ? (uint64_t)flat->extent : 0);
    } else {
        shape = shape_of(flat, copy->count);
        bits = bits_of(&shape);
        part.to = (char *)((uintptr_t)part.to + (copy->to_packed ? 0 : (uintptr_t)flat->offset));
        part.from = (const char *)((uintptr_t)part.from + (copy->from_packed ? 0 : (uintptr_t)flat->offset));
    }
    part.word = word_of(bits | (uintptr_t)part.to | (uintptr_t)part.from | copy->bytes);
    part.words = copy->bytes / part.word;
    if (flat->list.offsets) {
        lay_out_list(&part, flat, copy->list);
    } else {
        lay_out_strided(&part, &shape);
    }
    return part;
}

int gf_pack_plan_blocks(uint64_t tiles, int device_blocks)
{
    return tiles < (uint64_t)device_blocks ? (int)tiles : device_blocks;
}
