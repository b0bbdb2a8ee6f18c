/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where things lie in the memory of a connection. Words that different agents write never share a line of GF_LINE bytes.
 *
 *   receiver's end, written by the sender:    LL slot 0 | LL slot 1 | channel 0: GF_FIFO_DEPTH slots | channel 1 … | tails
 *   sender's end, written by the receiver:    heads
 *
 * A line of `tails` per channel holds the tail at 0 and the sizes of the slots from GF_LAYOUT_SIZES on: one agent writes both.
 * A line of `heads` per channel holds the head at 0.
 */
#ifndef GF_CORE_LAYOUT_H
#define GF_CORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/connector.h"

enum { GF_LAYOUT_SIZES = 64 };

_Static_assert(GF_LAYOUT_SIZES + GF_FIFO_DEPTH * sizeof(uint32_t) <= GF_LINE, "tail and sizes fit one line");

/* Offsets in bytes from the start of the receiver's memory, which is aligned to GF_LINE; ll_bytes and slot_bytes are multiples
 * of GF_LINE. */
struct gf_layout {
    size_t slots, tails, bytes;
};

static inline struct gf_layout gf_layout_receiver(const struct gf_connector_shape *shape)
{
    size_t channels = (size_t)shape->channels;
    size_t slots = 2 * shape->ll_bytes;
    size_t tails = slots + channels * GF_FIFO_DEPTH * shape->slot_bytes;

    return (struct gf_layout){ .slots = slots, .tails = tails, .bytes = tails + channels * GF_LINE };
}

static inline size_t gf_layout_heads_bytes(const struct gf_connector_shape *shape)
{
    return (size_t)shape->channels * GF_LINE;
}

/* The connection of one channel as its kernel gets it, from the endpoint of either end. */
static inline struct gf_conn gf_layout_conn(const struct gf_endpoint *endpoint, const struct gf_connector_shape *shape,
                                            int channel)
{
    char *tail_line = endpoint->tails + (size_t)channel * GF_LINE;

    return (struct gf_conn){
        .head = (uint64_t *)(void *)(endpoint->heads + (size_t)channel * GF_LINE),
        .tail = (uint64_t *)(void *)tail_line,
        .size = (uint32_t *)(void *)(tail_line + GF_LAYOUT_SIZES),
        .slots = endpoint->slots + (size_t)channel * GF_FIFO_DEPTH * shape->slot_bytes,
        .slot_bytes = shape->slot_bytes,
        .step = 0,
    };
}

#endif
