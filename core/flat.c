/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a sequence of blocks to dimensions, as long as that goes, else to a list.
 */
#include "core/flat.h"

#include <stdlib.h>

enum {
    BLOCKS_A_HINT = 16,          /* on average: what a thread searches */
    LOWEST_HINT_SHIFT = 4
};

void gf_flat_begin(struct gf_flat_builder *builder, int64_t extent)
{
    *builder = (struct gf_flat_builder){.flat = {.extent = extent}};
}

static bool no_memory(uint64_t blocks, struct gf_reason *why)
{
    gf_reason_set(why, "no host memory for the list of a datatype's %llu blocks; use a type with fewer, longer blocks",
                  (unsigned long long)blocks);
    return false;
}

static bool append(struct gf_flat_builder *builder, struct gf_flat_block block, struct gf_reason *why)
{
    if (builder->flat.blocks == builder->capacity) {
        size_t capacity = builder->capacity ? 2 * builder->capacity : 64;
        struct gf_flat_block *blocks = realloc(builder->blocks, capacity * sizeof *blocks);

        if (!blocks) {
            return no_memory(builder->flat.blocks, why);
        }
        builder->blocks = blocks;
        builder->capacity = capacity;
    }
    builder->blocks[builder->flat.blocks++] = block;
    return true;
}

/* The blocks that were in dimensions, one by one. */
static bool give_up_dims(struct gf_flat_builder *builder, struct gf_reason *why)
{
    struct gf_flat regular = builder->flat;

    builder->flat.blocks = 0;
    for (uint64_t i = 0; i < regular.blocks; i++) {
        if (!append(builder, gf_flat_block(&regular, i), why)) {
            return false;
        }
    }
    builder->flat.dims = 0;
    return true;
}

/* Does this block come next in the dimensions, of which the outermost may still grow? Where all inner ones have just been
 * counted through, a new outermost one may begin. */
static bool fits(struct gf_flat_builder *builder, struct gf_flat_block block)
{
    struct gf_flat *flat = &builder->flat;
    uint64_t next[GF_FLAT_DIMS] = {builder->index[0], builder->index[1], builder->index[2]};
    int64_t expected = flat->offset;
    uint32_t d = 0, outermost = flat->dims - 1;

    if (block.bytes != flat->block) {
        return false;
    }
    if (flat->dims > 0) {
        while (d < outermost && next[d] + 1 == flat->dim[d].count) {
            next[d++] = 0;
        }
        next[d]++;
        for (uint32_t i = 0; i < flat->dims; i++) {
            expected += (int64_t)next[i] * flat->dim[i].stride;
        }
    }
    if (flat->dims == 0 || (d == outermost && expected != block.offset && flat->dims < GF_FLAT_DIMS)) {
        for (uint32_t i = 0; i < flat->dims; i++) {
            next[i] = 0;
        }
        next[flat->dims] = 1;
        flat->dim[flat->dims++] = (struct gf_flat_dim){2, block.offset - flat->offset};
    } else if (expected != block.offset) {
        return false;
    }
    for (uint32_t i = 0; i < GF_FLAT_DIMS; i++) {
        builder->index[i] = next[i];
    }
    flat->dim[flat->dims - 1].count = next[flat->dims - 1] + 1;
    return true;
}

/* The last block will not grow any more. */
static bool settle(struct gf_flat_builder *builder, struct gf_reason *why)
{
    struct gf_flat *flat = &builder->flat;
    struct gf_flat_block block = builder->last;

    if (block.bytes == 0) {
        return true;
    }
    flat->bytes += block.bytes;
    flat->list.bits |= (uint64_t)block.offset | block.bytes;
    if (builder->blocks) {
        return append(builder, block, why);
    }
    if (flat->blocks == 0) {
        flat->offset = block.offset;
        flat->block = block.bytes;
    } else if (!fits(builder, block)) {
        return give_up_dims(builder, why) && append(builder, block, why);
    }
    flat->blocks++;
    return true;
}

gf_status gf_flat_add(struct gf_flat_builder *builder, int64_t offset, uint64_t bytes, struct gf_reason *why)
{
    struct gf_flat_block *last = &builder->last;

    if (last->bytes > 0 && last->offset + (int64_t)last->bytes == offset) {
        last->bytes += bytes;
        return GF_OK;
    }
    if (!settle(builder, why)) {
        return GF_ERR_NO_MEMORY;
    }
    *last = (struct gf_flat_block){offset, bytes};
    return GF_OK;
}

/* Have the inner dimensions been counted through to their end? */
static bool is_complete(const struct gf_flat_builder *builder)
{
    for (uint32_t d = 0; d + 1 < builder->flat.dims; d++) {
        if (builder->index[d] + 1 != builder->flat.dim[d].count) {
            return false;
        }
    }
    return true;
}

static bool is_uniform(const struct gf_flat_builder *builder)
{
    for (uint64_t i = 1; i < builder->flat.blocks; i++) {
        if (builder->blocks[i].bytes != builder->blocks[0].bytes) {
            return false;
        }
    }
    return true;
}

static void write_hints(const struct gf_flat *flat)
{
    const struct gf_flat_list *list = &flat->list;
    uint64_t count = (flat->bytes >> list->hint_shift) + 2, block = 0;

    for (uint64_t i = 0; i < count; i++) {
        while (block + 1 < flat->blocks && list->starts[block + 1] <= i << list->hint_shift) {
            block++;
        }
        list->hints[i] = (uint32_t)block;
    }
}

/* From what was appended to the arrays that kernels read. */
static gf_status write_list(const struct gf_flat_builder *builder, struct gf_flat *flat, struct gf_reason *why)
{
    struct gf_flat_list *list = &flat->list;
    bool uniform = is_uniform(builder);
    uint64_t hints = 0;

    list->hint_shift = LOWEST_HINT_SHIFT;
    if (!uniform) {
        while ((flat->bytes >> list->hint_shift) > flat->blocks / BLOCKS_A_HINT + 1) {
            list->hint_shift++;
        }
        hints = (flat->bytes >> list->hint_shift) + 2;
    }
    list->bytes = flat->blocks * (sizeof *list->offsets + (uniform ? 0 : sizeof *list->starts)) + hints * sizeof *list->hints;
    list->offsets = flat->blocks < UINT32_MAX ? malloc(list->bytes) : NULL;
    if (!list->offsets) {
        no_memory(flat->blocks, why);
        return GF_ERR_NO_MEMORY;
    }
    flat->block = uniform ? builder->blocks[0].bytes : 0;
    list->starts = uniform ? NULL : (uint64_t *)(list->offsets + flat->blocks);
    list->hints = uniform ? NULL : (uint32_t *)(list->starts + flat->blocks);
    for (uint64_t i = 0, start = 0; i < flat->blocks; start += builder->blocks[i++].bytes) {
        list->offsets[i] = builder->blocks[i].offset;
        if (!uniform) {
            list->starts[i] = start;
        }
    }
    if (!uniform) {
        write_hints(flat);
    }
    return GF_OK;
}

gf_status gf_flat_finish(struct gf_flat_builder *builder, struct gf_flat *flat, struct gf_reason *why)
{
    bool ok = settle(builder, why);
    gf_status status = ok ? GF_OK : GF_ERR_NO_MEMORY;

    if (ok && !builder->blocks && !is_complete(builder) && !give_up_dims(builder, why)) {
        status = GF_ERR_NO_MEMORY;
    }
    *flat = builder->flat;
    if (status == GF_OK && builder->blocks) {
        status = write_list(builder, flat, why);
    }
    gf_flat_abandon(builder);
    return status;
}

void gf_flat_abandon(struct gf_flat_builder *builder)
{
    free(builder->blocks);
    builder->blocks = NULL;
}

void gf_flat_free(struct gf_flat *flat)
{
    free(flat->list.offsets);
    flat->list.offsets = NULL;
}

struct gf_flat_block gf_flat_block(const struct gf_flat *flat, uint64_t number)
{
    const struct gf_flat_list *list = &flat->list;
    struct gf_flat_block block = {flat->offset, flat->block};

    if (list->offsets) {
        block.offset = list->offsets[number];
        if (list->starts) {
            block.bytes = (number + 1 < flat->blocks ? list->starts[number + 1] : flat->bytes) - list->starts[number];
        }
        return block;
    }
    for (uint32_t d = 0; d < flat->dims; d++) {
        bool outermost = d + 1 == flat->dims;

        block.offset += (int64_t)(outermost ? number : number % flat->dim[d].count) * flat->dim[d].stride;
        number /= flat->dim[d].count;
    }
    return block;
}
