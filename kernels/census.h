/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is a GPU empty but for this launch (device/cuda_census.c)? It has as many blocks as the GPU has room for: are they all there at
 * once, and so nothing else? One thread a block counts itself and looks for a while whether all have come.
 */
#ifndef GF_KERNELS_CENSUS_H
#define GF_KERNELS_CENSUS_H

#include "kernels/ordered.h"

enum { GF_CENSUS_NS = 50000, GF_CENSUS_GAVE_UP = 1 << 16 };

/* Of the launches of one stream, which run one after the other. Zeros before the first. */
struct gf_census_counts {
    uint32_t come, left;           /* blocks; in the upper half of left, those that gave up */
};

/* Who leaves last tells, and clears the counts for the next launch of the stream. */
GF_INLINE void gf_census_leave(const struct gf_team *team, const struct gf_census_work *work, struct gf_census_counts *counts,
                               bool all)
{
    uint32_t mine = all ? 1 : 1 + GF_CENSUS_GAVE_UP;
    uint32_t left = gf_add_acquire_release32(team, &counts->left, mine) + mine;
    if (left % GF_CENSUS_GAVE_UP != team->blocks)
        return;
    gf_store_relaxed32(team, &counts->come, 0);
    gf_store_relaxed32(team, &counts->left, 0);
    gf_store_relaxed32(team, work->word, work->ticket * 2 + (left < GF_CENSUS_GAVE_UP));
}

GF_INLINE void gf_census(const struct gf_team *team, const struct gf_census_work *work, struct gf_census_counts *counts)
{
    if (team->thread == 0) {
        uint64_t began = gf_clock_ns();
        bool all = gf_add_acquire_release32(team, &counts->come, 1) + 1 == team->blocks;
        while (!all && gf_clock_ns() - began < GF_CENSUS_NS)
            all = gf_load_relaxed32(&counts->come) == team->blocks;
        gf_census_leave(team, work, counts, all);
    }
    gf_team_barrier(team);
}

#endif
