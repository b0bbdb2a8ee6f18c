/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The account.
 */
#include "core/linger.h"

void gf_linger_init(struct gf_linger *linger, enum gf_linger_mode mode, uint32_t us)
{
    *linger = (struct gf_linger){
        .mode = mode, .us = mode == GF_LINGER_FIXED ? us : 0, .rest = GF_LINGER_FIRST, .pause = GF_LINGER_PAUSE,
    };
}

static uint32_t clamp(uint64_t us)
{
    return us < GF_LINGER_LEAST ? GF_LINGER_LEAST : us > GF_LINGER_MOST ? GF_LINGER_MOST : (uint32_t)us;
}

static void rest(struct gf_linger *linger)
{
    linger->us = 0;
    linger->rest = linger->pause;
    linger->pause = linger->pause < GF_LINGER_PAUSE_MOST ? 2 * linger->pause : GF_LINGER_PAUSE_MOST;
}

/* Long enough for the gap that was seen. One call in vain ends it. */
static void begin_trial(struct gf_linger *linger, uint64_t gap_us)
{
    linger->us = clamp(2 * gap_us);
    linger->account = (int32_t)linger->us - 1;
}

/* Twice the gap, of which longer ones count at once and shorter ones by and by. */
static void earn(struct gf_linger *linger, uint64_t gap_us)
{
    uint32_t wanted = clamp(2 * gap_us), slowly = linger->us - linger->us / 8;

    linger->us = wanted > slowly ? wanted : clamp(slowly);
    linger->account += GF_LINGER_SAVED;
    if (linger->account > GF_LINGER_MOST) {
        linger->account = GF_LINGER_MOST;
        linger->pause = GF_LINGER_PAUSE;
    }
}

uint32_t gf_linger_next(struct gf_linger *linger, bool here, uint64_t gap_us)
{
    if (linger->mode == GF_LINGER_FIXED) {
        return linger->us;
    }
    if (linger->us == 0) {
        if (--linger->rest == 0) {
            begin_trial(linger, gap_us);
        }
    } else if (here) {
        earn(linger, gap_us);
    } else {
        linger->account -= (int32_t)linger->us;
        if (linger->account < 0) {
            rest(linger);
        }
    }
    return linger->us;
}
