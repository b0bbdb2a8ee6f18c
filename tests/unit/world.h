/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A world of ranks for tests of the protocols: the kernels of all ranks run as host threads of this process, over plain
 * memory, with connections and slots made by hand. No device, no transport.
 */
#ifndef GF_TESTS_WORLD_H
#define GF_TESTS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/types.h"
#include "kernels/work.h"

enum { WORLD_MAX_RANKS = 8, WORLD_MAX_BLOCKS = 4 };

struct world_shape {
    uint32_t ranks, blocks, threads;      /* threads: of a block */
    bool shuffled;                        /* the ring goes from rank to rank in an order drawn from the seed */
    bool weak;                            /* stores of others are seen late and in random order */
    uint64_t ll_slot_bytes;               /* of one slot of LL lines; of LL128 lines as many, but GF_LL128_SLOT_STEP at least */
    uint64_t slot_bytes;                  /* of a FIFO slot */
    uint64_t deadline_ns;
    uint64_t seed;
};

struct world;

struct world *world_create(const struct world_shape *shape);
void world_destroy(struct world *world);

/* The ring's last two: straight to the next rank's buffers, or from those of the one before. */
enum world_algorithm { WORLD_RING, WORLD_ONE_SHOT, WORLD_TWO_SHOT, WORLD_LL128, WORLD_RING_WRITES, WORLD_RING_READS };

/* One call as one rank makes it. blocks: of this launch, any number up to the shape's, equal on all ranks. */
struct world_call {
    enum world_algorithm algorithm;
    uint32_t blocks;
    struct gf_reduction data;
    bool alone;                   /* two-shot: launches without having met anybody, all buffers are its own */
};

/* Runs the kernel of this rank and returns when it has ended; the result is what the kernel reported. Ranks call it from
 * threads of their own, each rank the same sequence of calls. When LL epochs run out, the ranks meet and the slots are
 * swept. For two-shot they meet first, as their hosts would, and learn where the others' buffers are. */
enum gf_kernel_error world_launch(struct world *world, uint32_t rank, const struct world_call *call);

/* Makes every kernel leave. */
void world_abort(struct world *world);

/* Did every launch report its ticket, and does each FIFO's end agree with the other? Call it when nothing runs. */
bool world_is_consistent(const struct world *world);

#endif
