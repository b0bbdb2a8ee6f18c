/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gathering and scattering data that have gaps: a thread a word, whatever the blocks, so that many short blocks cost what
 * their memory does. Neighbouring threads take neighbouring words of the data, so the packed end is read or written in whole
 * lines. struct gf_pack_part says where a word is. Waits for nobody.
 */
#ifndef GF_KERNELS_PACK_H
#define GF_KERNELS_PACK_H

#include "kernels/ordered.h"
#include "kernels/task.h"

struct gf_pack_split {
    uint64_t times, rest;
};

/* n = times * divisor + rest. `wide` is a constant after inlining: a division in 64 bits takes some hundred instructions. */
GF_INLINE struct gf_pack_split gf_pack_divide(uint64_t n, const struct gf_divisor *divisor, bool wide)
{
    struct gf_pack_split split;
    if (wide) {
        split.times = n / divisor->value;
        split.rest = n - split.times * divisor->value;
    } else {
        uint32_t times = (uint32_t)((uint64_t)(uint32_t)n * divisor->multiplier >> divisor->shift);
        split.times = times;
        split.rest = (uint32_t)n - times * (uint32_t)divisor->value;
    }
    return split;
}

/* The block of an element that has this byte of its data. */
GF_INLINE uint32_t gf_pack_find(const struct gf_pack_part *part, uint64_t byte)
{
    const uint32_t *hint = part->hints + (byte >> part->hint_shift);
    uint32_t low = hint[0], high = hint[1];
    GF_ROLL
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (part->starts[middle] <= byte)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

GF_INLINE int64_t gf_pack_listed(const struct gf_pack_part *part, uint64_t n, uint32_t word, bool wide)
{
    struct gf_pack_split element = gf_pack_divide(n, &part->element, wide);
    int64_t origin = (int64_t)element.times * part->extent;
    if (part->block.value == 0) {
        uint64_t byte = element.rest * word;
        uint32_t entry = gf_pack_find(part, byte);
        return origin + part->offsets[entry] + (int64_t)(byte - part->starts[entry]);
    }
    struct gf_pack_split block = gf_pack_divide(element.rest, &part->block, wide);
    return origin + part->offsets[block.times] + (int64_t)(block.rest * word);
}

GF_INLINE int64_t gf_pack_strided(const struct gf_pack_part *part, uint64_t n, uint32_t word, bool wide)
{
    struct gf_pack_split place = gf_pack_divide(n, &part->block, wide);
    int64_t offset = (int64_t)(place.rest * word);
    GF_UNROLL
    for (uint32_t d = 0; d < GF_PACK_DIMS; d++) {
        if (d + 1 >= part->dims) {
            offset += (int64_t)place.times * part->stride[d];
            break;
        }
        place = gf_pack_divide(place.times, &part->count[d], wide);
        offset += (int64_t)place.rest * part->stride[d];
    }
    return offset;
}

/* The offset of word n at an end that is not packed. */
GF_INLINE int64_t gf_pack_place(const struct gf_pack_part *part, uint64_t n, uint32_t word, bool wide)
{
    return part->offsets ? gf_pack_listed(part, n, word, wide) : gf_pack_strided(part, n, word, wide);
}

/* Words [begin, end); the whole team. word and wide are constants after inlining. Divisions in 64 bits leave registers for one
 * word at a time. */
GF_INLINE void gf_pack_move(const struct gf_team *team, const struct gf_pack_part *part, uint64_t begin, uint64_t end,
                            uint32_t word, bool wide)
{
    const uint32_t n = wide ? 1 : GF_PACK_IN_FLIGHT;
    uint32_t step = team->threads;
    GF_ROLL
    for (uint64_t at = begin + team->thread; at < end; at += (uint64_t)n * step) {
        int64_t place[GF_PACK_IN_FLIGHT];
        union gf_word words[GF_PACK_IN_FLIGHT];
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if (at + u * step < end)
                place[u] = gf_pack_place(part, at + u * step, word, wide);
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if (at + u * step < end)
                words[u] = gf_load_word(part->from + (part->from_packed ? (int64_t)((at + u * step) * word) : place[u]), word);
        GF_UNROLL
        for (uint32_t u = 0; u < n; u++)
            if (at + u * step < end)
                gf_store_word(team, part->to + (part->to_packed ? (int64_t)((at + u * step) * word) : place[u]), words[u], word);
    }
}

GF_INLINE void gf_pack_words(const struct gf_team *team, const struct gf_pack_part *part, uint64_t begin, uint64_t end, bool wide)
{
    switch (part->word) {
    case 16: gf_pack_move(team, part, begin, end, 16, wide); break;
    case 8: gf_pack_move(team, part, begin, end, 8, wide); break;
    case 4: gf_pack_move(team, part, begin, end, 4, wide); break;
    case 2: gf_pack_move(team, part, begin, end, 2, wide); break;
    default: gf_pack_move(team, part, begin, end, 1, wide); break;
    }
}

/* One tile of the part, the number-th. */
GF_INLINE void gf_pack_tile(const struct gf_team *team, const struct gf_pack_part *part, uint64_t number)
{
    uint64_t begin = number * GF_PACK_TILE;
    uint64_t end = part->words - begin < GF_PACK_TILE ? part->words : begin + GF_PACK_TILE;
    if (part->words < GF_PACK_WIDE)
        gf_pack_words(team, part, begin, end, false);
    else
        gf_pack_words(team, part, begin, end, true);
}

GF_INLINE void gf_pack_one(const struct gf_team *team, const struct gf_pack_work *work)
{
    GF_ROLL
    for (uint64_t tile = team->block; tile * GF_PACK_TILE < work->part.words; tile += team->blocks)
        gf_pack_tile(team, &work->part, tile);
    gf_task_finish(team, &work->task);
}

/* The part that this tile belongs to. */
GF_INLINE const struct gf_pack_part *gf_pack_part_of(const struct gf_pack_list_work *work, uint64_t tile)
{
    uint64_t low = 0, high = work->count - 1;
    GF_ROLL
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (work->parts[middle].first_tile <= tile)
            low = middle;
        else
            high = middle - 1;
    }
    return &work->parts[low];
}

GF_INLINE void gf_pack_list(const struct gf_team *team, const struct gf_pack_list_work *work)
{
    GF_ROLL
    for (uint64_t tile = team->block; tile < work->tiles; tile += team->blocks) {
        const struct gf_pack_part *part = gf_pack_part_of(work, tile);
        gf_pack_tile(team, part, tile - part->first_tile);
    }
    gf_task_finish(team, &work->task);
}

#endif
