/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copying the data of a layout between device memory and a bounce buffer in pinned or in device memory: one driver call,
 * however many blocks it has. The bounce buffer has the layout of the user's buffer (plan), or the data packed: without gaps,
 * in the order of the type map (pack, unpack).
 */
#ifndef GF_MCA_STAGE_COPY_H
#define GF_MCA_STAGE_COPY_H

#include "core/pack_plan.h"
#include "mca_coll_gpufifo/stage_layout.h"
#include "mca_coll_gpufifo/stage_pool.h"

struct gf_flat_type;                   /* flatten.h */

/* Elements of one type. */
struct gf_transfer_part {
    struct gf_flat_type *type;         /* a reference */
    struct gf_pack_copy copy;          /* user addresses; no list */
};

/* One copy that may be queued again and again. Owner: the staged buffer. Empty (bytes == 0) when zeroed. */
struct gf_transfer {
    char *to;                          /* no parts: a copy of so many bytes */
    const char *from;
    size_t bytes;                      /* parts: of data */
    struct gf_transfer_part *parts;
    size_t count;                      /* of parts */
    struct gf_pack_part *kernel_parts; /* pinned, one a part; null: kernels do not reach one of the ends */
    uint64_t tiles;                    /* of all parts */
};

enum gf_transfer_gaps {
    GF_GAPS_KEEP,                      /* bytes between the blocks are neither read nor written */
    GF_GAPS_COPY                       /* they may be, where that is cheaper */
};

/* Plans the copy of a layout's data. to, from: the two addresses that stand for the layout's origin (they may lie outside of
 * the memory, only the data need not). On failure the transfer is empty. */
gf_status gf_transfer_plan(struct gf_transfer *transfer, const struct gf_layout *layout, enum gf_transfer_gaps gaps,
                           struct gf_stage_pool *pool, void *to, const void *from, struct gf_reason *why);

/* Plans to gather the layout's data from `user`, which stands for its origin, to packed memory. On failure the transfer is
 * empty. */
gf_status gf_transfer_pack(struct gf_transfer *transfer, const struct gf_layout *layout, struct gf_stage_pool *pool,
                           void *packed, const void *user, struct gf_reason *why);

/* Plans to scatter the first `bytes` of packed data, at most all, to where the layout has them; nothing else is written. */
gf_status gf_transfer_unpack(struct gf_transfer *transfer, const struct gf_layout *layout, struct gf_stage_pool *pool,
                             void *user, const void *packed, size_t bytes, struct gf_reason *why);

/* Short data without gaps that the host can move by itself (gf_device_copy_at_once) it moves; false: it is to be queued. */
bool gf_transfer_at_once(const struct gf_transfer *transfer, struct gf_stage_pool *pool);

/* Queues it in the lane's stream, nothing if it is empty. The lists are in use until the stream has done it. */
gf_status gf_transfer_queue(const struct gf_transfer *transfer, struct gf_stage_lane *lane, struct gf_reason *why);

/* Gives the lists back and leaves it empty. No copy may be under way. */
void gf_transfer_release(struct gf_transfer *transfer, struct gf_stage_pool *pool);

#endif
