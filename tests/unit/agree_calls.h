/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A board, and random calls of device and host buffers, for the tests of the agreement between ranks.
 */
#ifndef GF_TESTS_AGREE_CALLS_H
#define GF_TESTS_AGREE_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "mca_coll_gpufifo/agree_board.h"

static inline struct gf_agree_board *board_new(int ranks)
{
    size_t bytes = gf_agree_board_bytes(ranks);
    struct gf_agree_board *board = aligned_alloc(GF_AGREE_LINE, bytes);

    assert_non_null(board);
    return memset(board, 0, bytes);
}

static inline uint64_t mix(uint64_t x)
{
    return gf_random_next(&x);
}

/* Two calls of three have device buffers everywhere, so that rings fill up. */
static inline bool has_device_buffers(uint64_t seed, int rank, uint64_t call)
{
    uint64_t bits = mix(seed + call);

    return bits % 3 != 0 || (bits >> (8 + rank)) % 2 != 0;
}

static inline bool all_have_device_buffers(uint64_t seed, int ranks, uint64_t call)
{
    for (int rank = 0; rank < ranks; rank++) {
        if (!has_device_buffers(seed, rank, call)) {
            return false;
        }
    }
    return true;
}

#endif
