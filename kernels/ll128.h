/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Items as LL128 lines: 120 bytes of data and a flag of eight in a line of 128, which is stored and loaded at once, so that the
 * receiver polls the data itself, as with LL, but for 15/16 of the bytes instead of half. Only for devices and connections where
 * such a store arrives whole (struct gf_device_caps, gf_device_whole_lines): elsewhere a new flag may stand beside old data.
 *
 * A unit is 15 items in as many lines as an item has words: line w holds word w of all 15, and the flag in the sixteenth place. A
 * lane keeps GF_LANE_WORDS places of each line, and so whole items: place GF_LANE_WORDS · lane + j has item GF_LINE_LANES · j +
 * lane, which lets neighbouring lanes load and store neighbouring items of the program's buffers.
 */
#ifndef GF_KERNELS_LL128_H
#define GF_KERNELS_LL128_H

#include "kernels/ll.h"

enum {
    GF_UNIT_ITEMS = GF_LINE / 8 - 1,
    GF_UNIT_LINES = GF_ITEM_BYTES / 8,
    GF_UNIT_BYTES = GF_UNIT_LINES * GF_LINE,          /* in a slot */
    GF_UNIT_DATA = GF_UNIT_ITEMS * GF_ITEM_BYTES
};
GF_STATIC_ASSERT(GF_LL128_SLOT_STEP % GF_UNIT_BYTES == 0, "a slot is whole units in every build");

/* What one lane has of a unit. In place of the item that the flag displaces is one that nobody looks at. */
struct gf_unit_part {
    union gf_item items[GF_LANE_WORDS];
};

/* The number of a lane's item j within the unit; GF_UNIT_ITEMS is the flag's place. */
GF_INLINE uint32_t gf_unit_item(uint32_t lane, uint32_t j)
{
    return GF_LINE_LANES * j + lane;
}

/* All lanes of a line together. */
GF_INLINE void gf_store_unit(const struct gf_team *team, char *unit, uint32_t lane, const struct gf_unit_part *part,
                             uint32_t flag)
{
    gf_lanes_meet(team);
    GF_UNROLL
    for (uint32_t w = 0; w < GF_UNIT_LINES; w++) {
        struct gf_line_part line;
        GF_UNROLL
        for (uint32_t j = 0; j < GF_LANE_WORDS; j++)
            line.words[j] = gf_unit_item(lane, j) == GF_UNIT_ITEMS ? flag : part->items[j].u64[w];
        if (GF_MUTANT != GF_MUTANT_TEAR_LINE) {
            gf_store_line(team, unit + w * GF_LINE, lane, line);
        } else {
            for (uint32_t j = 0; j < GF_LANE_WORDS; j++)
                gf_store_relaxed64(team, (uint64_t *)(void *)(unit + w * GF_LINE) + GF_LANE_WORDS * lane + j, line.words[j]);
        }
    }
}

/* All lanes of a line together: true in all of them if all lines of the unit carry the flag; *part is undefined otherwise. */
GF_INLINE bool gf_load_unit(const struct gf_team *team, const char *unit, uint32_t lane, struct gf_unit_part *part, uint32_t flag)
{
    bool arrived = true;
    gf_lanes_meet(team);
    GF_UNROLL
    for (uint32_t w = 0; w < GF_UNIT_LINES; w++) {
        struct gf_line_part line = gf_load_line(unit + w * GF_LINE, lane);
        GF_UNROLL
        for (uint32_t j = 0; j < GF_LANE_WORDS; j++) {
            bool is_flag = gf_unit_item(lane, j) == GF_UNIT_ITEMS;
            if (GF_MUTANT != GF_MUTANT_ONE_FLAG || w == 0)
                arrived &= !is_flag || line.words[j] == flag;
            part->items[j].u64[w] = line.words[j];
        }
    }
    return gf_lanes_all(team, arrived);
}

#endif
