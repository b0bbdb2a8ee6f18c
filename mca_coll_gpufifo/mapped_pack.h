/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data with gaps in an exchange of blocks: gathered into device memory of ours, from which the peers fetch, and scattered from
 * such memory, into which this rank fetches. A launch each, however many blocks the datatypes have.
 */
#ifndef GF_MCA_MAPPED_PACK_H
#define GF_MCA_MAPPED_PACK_H

#include "mca_coll_gpufifo/stage.h"
#include "mca_coll_gpufifo/stage_copy.h"

struct gf_device_piece;                /* device_memory.h */

/* Of one call, whose owner keeps it until the exchange has ended on all ranks. Zeroed: nothing has gaps. */
struct gf_mapped_packing {
    struct gf_stage_pool *pool;
    struct gf_device_piece *send, *recv;     /* the parts of that layout, packed, one after the other; null: it has no gaps */
    struct gf_transfer pack, unpack;
    struct gf_stage_lane *lane;              /* while one of them runs */
};

/* Plan to fill `send` from what a buffer's `in` says, and to empty `recv` to what `out` says. swaps: of an operation in place,
 * whose blocks lie in `recv` both before and after; then only `recv` is asked for. Null, or why it cannot be; the packing is to
 * be released in either case. Nothing runs yet. */
const char *gf_mapped_pack_plan_send(struct gf_mapped_packing *packing, const struct gf_stage_buffer *buffer);
const char *gf_mapped_pack_plan_recv(struct gf_mapped_packing *packing, const struct gf_stage_buffer *buffer, bool swaps);

/* Before the exchange, and after it; return when it is done. */
gf_status gf_mapped_pack(struct gf_mapped_packing *packing, struct gf_reason *why);
gf_status gf_mapped_unpack(struct gf_mapped_packing *packing, struct gf_reason *why);

/* The same without waiting: begins it, and then tells whether it has ended; GF_IN_PROGRESS: call it again. */
gf_status gf_mapped_pack_poll(struct gf_mapped_packing *packing, struct gf_reason *why);
gf_status gf_mapped_unpack_poll(struct gf_mapped_packing *packing, struct gf_reason *why);

/* The exchange has ended, or will not begin. Waits for what runs. */
void gf_mapped_pack_release(struct gf_mapped_packing *packing);

#endif
