/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank reduces what comes by messages (messages.h): memory for that, had before the ranks agree, and launches of the kernel
 * of local reductions. And how data are divided among the ranks that reduce them.
 */
#ifndef GF_MCA_BETWEEN_REDUCER_H
#define GF_MCA_BETWEEN_REDUCER_H

#include "base/types.h"
#include "mca_coll_gpufifo/between/messages.h"

struct gf_device_piece;                /* device_memory.h */
struct gf_stage_lane;                  /* stage_pool.h */
struct gf_stage_pool;

/* Bytes of a buffer. */
struct gf_part {
    size_t offset, bytes;
};

/* The i-th of so many parts of `whole`, which consists of elements of that type: their lengths follow from those of `whole`
 * alone, and they begin at multiples of some elements. They may be empty. */
struct gf_part gf_part_split(struct gf_part whole, enum gf_type type, int parts, int i);

/* Of one call. Zeroed by the caller, who fills type and op, before prepare; ended by release in any case. One thread. */
struct gf_reducer {
    enum gf_type type;                 /* an allowed pair */
    enum gf_op op;
    struct gf_stage_pool *pool;
    struct gf_stage_lane *lane;        /* for its kernels; null: it was not prepared */
    struct gf_device_piece *piece;     /* null: no scratch memory is needed */
    struct gf_mapped_buffer scratch;
};

/* Why kernels of this rank's device cannot reduce from `send` to `recv`, or null. A buffer without an address is none. */
const char *gf_reducer_obstacle(const struct gf_reducer *reducer, const struct gf_mapped_buffer *send,
                                const struct gf_mapped_buffer *recv);

/* What it takes to launch kernels on that device, and so many bytes of scratch memory. Null, or why it cannot be had. */
const char *gf_reducer_prepare(struct gf_reducer *reducer, int ordinal, size_t scratch_bytes);

/* From where scratch memory is dealt out, so that kernels can load whole vectors. */
static inline size_t gf_reducer_line(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* to = inputs[0] op inputs[1] op ..., so many bytes each; returns when it is done. inputs: user addresses, of which all but the
 * own_input-th (-1: all) are scratch memory and are used up; `to` may be one of them. A rank that has failed reduces nothing;
 * what fails here is reported, and its failure (messages.h). */
void gf_reducer_reduce(struct gf_reducer *reducer, struct gf_messages *messages, void *const *inputs, int count, int own_input,
                       void *to, size_t bytes);

void gf_reducer_release(struct gf_reducer *reducer);

#endif
