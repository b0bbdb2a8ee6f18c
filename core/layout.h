/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where things lie in the memory of a connection. Words that different agents write never share a line of GF_LINE bytes.
 *
 *   receiver's end    LL slot 0 | LL slot 1 | channel 0: GF_FIFO_DEPTH slots | channel 1 … | tails
 *   sender's end      heads
 *
 * or, with the buffer at the sender,
 *
 *   receiver's end    LL slot 0 | LL slot 1 | tails
 *   sender's end      heads | channel 0: GF_FIFO_DEPTH slots | channel 1 …
 *
 * The sender writes slots and tails, the receiver heads, wherever they are; each polls words of its own memory only.
 *
 * A line of `tails` per channel holds the tail at 0 and the sizes of the slots from GF_LAYOUT_SIZES on: one agent writes both.
 * A line of `heads` per channel holds the head at 0. From GF_LAYOUT_ADDRESS on is the address word of who owns the slots: in the
 * line which that end writes and the other one polls.
 */
#ifndef GF_CORE_LAYOUT_H
#define GF_CORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/connector.h"

enum { GF_LAYOUT_ADDRESS = 16, GF_LAYOUT_SIZES = 64, GF_LAYOUT_ANSWERS = 64 };    /* behind tail and head */

_Static_assert(GF_LAYOUT_ADDRESS + GF_ADDRESS_WORDS * sizeof(uint64_t) <= GF_LAYOUT_SIZES, "the address is before the sizes");
_Static_assert(GF_LAYOUT_SIZES + GF_FIFO_DEPTH * sizeof(uint32_t) <= GF_LINE, "tail and sizes fit one line");
_Static_assert(GF_LAYOUT_ANSWERS + GF_FIFO_DEPTH * sizeof(uint64_t) <= GF_LINE, "head and answers fit one line");

/* Offsets in bytes from the start of one end's memory, which is aligned to GF_LINE; ll_bytes and slot_bytes are multiples of
 * GF_LINE. */
struct gf_layout {
    size_t slots;                  /* of the FIFOs, where this end has them */
    size_t words;                  /* tails or heads */
    size_t bytes;                  /* of all */
};

static inline size_t gf_layout_words_bytes(const struct gf_connector_shape *shape)
{
    return (size_t)shape->channels * GF_LINE;
}

static inline size_t gf_layout_slots_bytes(const struct gf_connector_shape *shape)
{
    return (size_t)shape->channels * GF_FIFO_DEPTH * shape->slot_bytes;
}

static inline struct gf_layout gf_layout_receiver(const struct gf_connector_shape *shape)
{
    size_t slots = 2 * shape->ll_bytes;
    size_t words = slots + (shape->sender_buffer ? 0 : gf_layout_slots_bytes(shape));

    return (struct gf_layout){ .slots = slots, .words = words, .bytes = words + gf_layout_words_bytes(shape) };
}

static inline struct gf_layout gf_layout_sender(const struct gf_connector_shape *shape)
{
    size_t slots = gf_layout_words_bytes(shape);

    return (struct gf_layout){ .slots = slots, .words = 0,
                               .bytes = slots + (shape->sender_buffer ? gf_layout_slots_bytes(shape) : 0) };
}

/* The connection of one channel as its kernel gets it, from the endpoint of either end. */
static inline struct gf_conn gf_layout_conn(const struct gf_endpoint *endpoint, const struct gf_connector_shape *shape,
                                            int channel)
{
    char *tail_line = endpoint->tails + (size_t)channel * GF_LINE, *head_line = endpoint->heads + (size_t)channel * GF_LINE;

    return (struct gf_conn){
        .head = (uint64_t *)(void *)head_line,
        .answers = (uint64_t *)(void *)(head_line + GF_LAYOUT_ANSWERS),
        .address = (uint64_t *)(void *)((shape->sender_buffer ? tail_line : head_line) + GF_LAYOUT_ADDRESS),
        .tail = (uint64_t *)(void *)tail_line,
        .size = (uint32_t *)(void *)(tail_line + GF_LAYOUT_SIZES),
        .slots = endpoint->slots + (size_t)channel * GF_FIFO_DEPTH * shape->slot_bytes,
        .slot_bytes = shape->slot_bytes,
        .step = 0,
    };
}

#endif
