/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops that move payload: out[i] = in[0][i] op in[1][i] op …, to one or two places in one pass. A copy is the case
 * of one input.
 *
 * Where all addresses agree modulo 16, whole items are moved, several in flight a thread, as bandwidth needs. The edges,
 * and everything where the addresses do not agree, go as ragged items: in smaller words, by code for all types at once.
 */
#ifndef GF_KERNELS_SIMPLE_H
#define GF_KERNELS_SIMPLE_H

#include "kernels/ordered.h"
#include "kernels/reduce.h"

enum {
    GF_VECTOR = 16,               /* alignment of an item */
    GF_IN_FLIGHT = 4,             /* items a thread and input: 32 KiB a block of 512 threads, what one block needs */
    GF_COPY_IN_FLIGHT = 8
};

/* One chunk for the whole team. An output may equal an input; apart from that, nothing overlaps. */
struct gf_move {
    const char *a, *b;            /* the first inputs in rank order; b may be null */
    const void *const *more;      /* the other inputs, each from more_at on */
    uint64_t more_at;
    uint32_t more_count;
    char *out;
    char *out2;                   /* a second copy of the result, or null */
    void *const *outs;            /* more copies, each from more_at on */
    uint32_t out_count;
    uint64_t bytes;               /* a multiple of the element */
};

/* [begin, end) in bytes. */
struct gf_range {
    uint64_t begin, end;
};

/* Can these bytes be moved by words of four? What is left then are elements of one or two bytes, or buffers that the program
 * aligned so. Two cases and no more: a short message waits for every instruction that has to be fetched. */
GF_INLINE bool gf_is_words(const void *address, uint32_t bytes)
{
    return ((uintptr_t)address | bytes) % sizeof(uint32_t) == 0;
}

/* The first `bytes` bytes of an item; what lies behind is 0. */
GF_INLINE union gf_item gf_load_ragged(const char *from, uint32_t bytes)
{
    union gf_item item = {{0}};
    if (bytes == GF_ITEM_BYTES && (uintptr_t)from % GF_VECTOR == 0)
        return gf_load_item(from);
    if (gf_is_words(from, bytes)) {
        GF_UNROLL
        for (uint32_t i = 0; i < GF_LANES_OF(uint32_t); i++)
            if (i < bytes / 4)
                item.u32[i] = gf_load_payload32(from + 4 * i);
    } else {
        GF_UNROLL
        for (uint32_t i = 0; i < GF_ITEM_BYTES; i++)
            if (i < bytes)
                item.u8[i] = gf_load_payload8(from + i);
    }
    return item;
}

GF_INLINE void gf_store_ragged(const struct gf_team *team, char *to, union gf_item item, uint32_t bytes)
{
    if (bytes == GF_ITEM_BYTES && (uintptr_t)to % GF_VECTOR == 0) {
        gf_store_item(team, to, item);
    } else if (gf_is_words(to, bytes)) {
        GF_UNROLL
        for (uint32_t i = 0; i < GF_LANES_OF(uint32_t); i++)
            if (i < bytes / 4)
                gf_store_payload32(team, to + 4 * i, item.u32[i]);
    } else {
        GF_UNROLL
        for (uint32_t i = 0; i < GF_ITEM_BYTES; i++)
            if (i < bytes)
                gf_store_payload8(team, to + i, item.u8[i]);
    }
}

/* [first, first + bytes) of the chunk, whatever the addresses; type and op may be variables. For edges, and for chunks whose
 * addresses do not agree. */
GF_INLINE void gf_move_ragged(const struct gf_team *team, const struct gf_move *move, uint64_t first, uint64_t bytes,
                              enum gf_type type, enum gf_op op)
{
    for (uint64_t i = (uint64_t)team->thread * GF_ITEM_BYTES; i < bytes; i += (uint64_t)team->threads * GF_ITEM_BYTES) {
        uint32_t valid = bytes - i < GF_ITEM_BYTES ? (uint32_t)(bytes - i) : GF_ITEM_BYTES;
        union gf_item result = gf_load_ragged(move->a + first + i, valid);
        if (move->b)
            result = gf_reduce_item(type, op, result, gf_load_ragged(move->b + first + i, valid));
        GF_ROLL
        for (uint32_t k = 0; k < move->more_count; k++)
            result = gf_reduce_item(type, op, result,
                                    gf_load_ragged((const char *)move->more[k] + move->more_at + first + i, valid));
        gf_store_ragged(team, move->out + first + i, result, valid);
        if (move->out2)
            gf_store_ragged(team, move->out2 + first + i, result, valid);
        GF_ROLL
        for (uint32_t k = 0; k < move->out_count; k++)
            gf_store_ragged(team, (char *)move->outs[k] + move->more_at + first + i, result, valid);
    }
}

/* n items of this thread from `from`, `stride` bytes apart: as many loads in flight. */
GF_INLINE void gf_load_round(const char *from, uint64_t stride, uint32_t n, union gf_item *items)
{
    GF_UNROLL
    for (uint32_t u = 0; u < n; u++)
        items[u] = gf_load_item(from + u * stride);
}

GF_INLINE void gf_store_round(const struct gf_team *team, char *to, uint64_t stride, uint32_t n, const union gf_item *items)
{
    GF_UNROLL
    for (uint32_t u = 0; u < n; u++)
        gf_store_item(team, to + u * stride, items[u]);
}

GF_INLINE void gf_reduce_round(enum gf_type type, enum gf_op op, uint32_t n, union gf_item *result, const union gf_item *next)
{
    GF_UNROLL
    for (uint32_t u = 0; u < n; u++)
        result[u] = gf_reduce_item(type, op, result[u], next[u]);
}

/* One round: the loads of a and of the next input are all issued before the first is used. type, op and n are constants
 * after inlining. */
GF_INLINE void gf_move_round(const struct gf_team *team, const struct gf_move *move, uint64_t at, uint64_t stride, uint32_t n,
                             enum gf_type type, enum gf_op op)
{
    union gf_item result[GF_COPY_IN_FLIGHT], next[GF_COPY_IN_FLIGHT];
    gf_load_round(move->a + at, stride, n, result);
    if (move->b) {
        gf_load_round(move->b + at, stride, n, next);
        gf_reduce_round(type, op, n, result, next);
    }
    GF_ROLL
    for (uint32_t k = 0; k < move->more_count; k++) {
        gf_load_round((const char *)move->more[k] + move->more_at + at, stride, n, next);
        gf_reduce_round(type, op, n, result, next);
    }
    gf_store_round(team, move->out + at, stride, n, result);
    if (move->out2)
        gf_store_round(team, move->out2 + at, stride, n, result);
    GF_ROLL
    for (uint32_t k = 0; k < move->out_count; k++)
        gf_store_round(team, (char *)move->outs[k] + move->more_at + at, stride, n, result);
}

/* Items of many narrow elements take many instructions each: one at a time keeps the code of all types small. */
GF_INLINE uint32_t gf_in_flight(enum gf_type type, enum gf_op op)
{
    return op == GF_NO_OP ? GF_COPY_IN_FLIGHT : gf_element_bytes(type) < 4 ? 1 : GF_IN_FLIGHT;
}

/* The items of [first, end), which are aligned. NO_OP copies a. */
GF_INLINE void gf_move_items(const struct gf_team *team, const struct gf_move *move, uint64_t first, uint64_t end,
                             enum gf_type type, enum gf_op op)
{
    uint32_t n = gf_in_flight(type, op);
    uint64_t stride = (uint64_t)team->threads * GF_ITEM_BYTES;
    uint64_t at = first + (uint64_t)team->thread * GF_ITEM_BYTES;
    GF_ROLL
    for (; at + (n - 1) * stride < end; at += n * stride)
        gf_move_round(team, move, at, stride, n, type, op);
    GF_ROLL
    for (; n > 1 && at < end; at += stride)
        gf_move_round(team, move, at, stride, 1, type, op);
}

/* Whole items in [first, end): addresses are aligned there. Empty where the addresses do not agree, or elements would be cut. */
GF_INLINE struct gf_range gf_aligned_range(const struct gf_move *move, uint32_t element)
{
    struct gf_range range = {0, 0};
    uintptr_t out = (uintptr_t)move->out;
    uintptr_t differ = (uintptr_t)move->a ^ out;
    differ |= move->b ? (uintptr_t)move->b ^ out : 0;
    differ |= move->out2 ? (uintptr_t)move->out2 ^ out : 0;
    for (uint32_t k = 0; k < move->more_count; k++)
        differ |= ((uintptr_t)move->more[k] + move->more_at) ^ out;
    for (uint32_t k = 0; k < move->out_count; k++)
        differ |= ((uintptr_t)move->outs[k] + move->more_at) ^ out;

    uintptr_t first = (0 - out) % GF_VECTOR;
    if (differ % GF_VECTOR == 0 && first % element == 0 && first < move->bytes) {
        range.begin = first;
        range.end = first + (move->bytes - first) / GF_ITEM_BYTES * GF_ITEM_BYTES;
    }
    return range;
}

/* Before and after the aligned range; all of the chunk where that is empty. */
GF_INLINE void gf_move_edges(const struct gf_team *team, const struct gf_move *move, struct gf_range aligned, enum gf_type type,
                             enum gf_op op)
{
    GF_ROLL
    for (uint32_t side = 0; side < 2; side++) {
        uint64_t first = side ? aligned.end : 0;
        gf_move_ragged(team, move, first, (side ? move->bytes : aligned.begin) - first, type, op);
    }
}

/* out = a, whatever the element. */
GF_INLINE void gf_copy_chunk(const struct gf_team *team, struct gf_move move)
{
    struct gf_range aligned = gf_aligned_range(&move, 1);
    gf_move_items(team, &move, aligned.begin, aligned.end, GF_UINT8, GF_NO_OP);
    gf_move_edges(team, &move, aligned, GF_UINT8, GF_NO_OP);
}

/* The items for one type: a loop for each operation from `first` to `last`. */
GF_INLINE void gf_reduce_by_op(const struct gf_team *team, const struct gf_move *move, struct gf_range aligned,
                               enum gf_type type, enum gf_op op, enum gf_op first, enum gf_op last)
{
    GF_UNROLL
    for (uint32_t each = first; each <= (uint32_t)last; each++)
        if (each == (uint32_t)op)
            gf_move_items(team, move, aligned.begin, aligned.end, type, (enum gf_op)each);
}

/* out = a op b op …, for every pair that gf_op_allowed allows but REPLACE and NO_OP; on a GPU not for host-only types.
 * One switch a chunk, and below it loops that know type and operation. */
GF_INLINE_ON_GPU void gf_reduce_chunk(const struct gf_team *team, struct gf_move move, enum gf_type any_type, enum gf_op op)
{
    enum gf_type type = gf_canonical_type(any_type, op);
    struct gf_range aligned = gf_aligned_range(&move, gf_element_bytes(type));
    switch (type) {
    case GF_UINT8: gf_reduce_by_op(team, &move, aligned, GF_UINT8, op, GF_MAX, GF_BXOR); break;
    case GF_UINT16: gf_reduce_by_op(team, &move, aligned, GF_UINT16, op, GF_MAX, GF_BXOR); break;
    case GF_UINT32: gf_reduce_by_op(team, &move, aligned, GF_UINT32, op, GF_MAX, GF_BXOR); break;
    case GF_UINT64: gf_reduce_by_op(team, &move, aligned, GF_UINT64, op, GF_MAX, GF_BXOR); break;
    case GF_INT8: gf_reduce_by_op(team, &move, aligned, GF_INT8, op, GF_MAX, GF_MIN); break;
    case GF_INT16: gf_reduce_by_op(team, &move, aligned, GF_INT16, op, GF_MAX, GF_MIN); break;
    case GF_INT32: gf_reduce_by_op(team, &move, aligned, GF_INT32, op, GF_MAX, GF_MIN); break;
    case GF_INT64: gf_reduce_by_op(team, &move, aligned, GF_INT64, op, GF_MAX, GF_MIN); break;
    case GF_FLOAT: gf_reduce_by_op(team, &move, aligned, GF_FLOAT, op, GF_MAX, GF_PROD); break;
    case GF_DOUBLE: gf_reduce_by_op(team, &move, aligned, GF_DOUBLE, op, GF_MAX, GF_PROD); break;
    case GF_FLOAT_COMPLEX: gf_reduce_by_op(team, &move, aligned, GF_FLOAT_COMPLEX, op, GF_SUM, GF_PROD); break;
    case GF_DOUBLE_COMPLEX: gf_reduce_by_op(team, &move, aligned, GF_DOUBLE_COMPLEX, op, GF_SUM, GF_PROD); break;
    case GF_FLOAT_INT: gf_reduce_by_op(team, &move, aligned, GF_FLOAT_INT, op, GF_MAXLOC, GF_MINLOC); break;
    case GF_DOUBLE_INT: gf_reduce_by_op(team, &move, aligned, GF_DOUBLE_INT, op, GF_MAXLOC, GF_MINLOC); break;
    case GF_LONG_INT: gf_reduce_by_op(team, &move, aligned, GF_LONG_INT, op, GF_MAXLOC, GF_MINLOC); break;
    case GF_INT_INT: gf_reduce_by_op(team, &move, aligned, GF_INT_INT, op, GF_MAXLOC, GF_MINLOC); break;
    case GF_SHORT_INT: gf_reduce_by_op(team, &move, aligned, GF_SHORT_INT, op, GF_MAXLOC, GF_MINLOC); break;
    case GF_FLOAT_FLOAT: gf_reduce_by_op(team, &move, aligned, GF_FLOAT_FLOAT, op, GF_MAXLOC, GF_MINLOC); break;
    case GF_DOUBLE_DOUBLE: gf_reduce_by_op(team, &move, aligned, GF_DOUBLE_DOUBLE, op, GF_MAXLOC, GF_MINLOC); break;
#ifndef __CUDACC__
    case GF_LONG_DOUBLE: gf_reduce_by_op(team, &move, aligned, GF_LONG_DOUBLE, op, GF_MAX, GF_PROD); break;
    case GF_LONG_DOUBLE_COMPLEX: gf_reduce_by_op(team, &move, aligned, GF_LONG_DOUBLE_COMPLEX, op, GF_SUM, GF_PROD); break;
    case GF_LONG_DOUBLE_INT: gf_reduce_by_op(team, &move, aligned, GF_LONG_DOUBLE_INT, op, GF_MAXLOC, GF_MINLOC); break;
#endif
    default: break;
    }
    gf_move_edges(team, &move, aligned, type, op);
}

/* The same for every operation: REPLACE and NO_OP take the last and the first input as it is. */
GF_INLINE void gf_move_chunk(const struct gf_team *team, struct gf_move move, enum gf_type type, enum gf_op op)
{
    bool alone = !move.b && move.more_count == 0;
    if (!alone && op != GF_REPLACE && op != GF_NO_OP) {
        gf_reduce_chunk(team, move, type, op);
        return;
    }
    if (!alone && op == GF_REPLACE)
        move.a = move.more_count > 0 ? (const char *)move.more[move.more_count - 1] + move.more_at : move.b;
    move.b = NULL;
    move.more_count = 0;
    gf_copy_chunk(team, move);
}

/* A copy as a move. */
GF_INLINE void gf_copy_bytes(const struct gf_team *team, char *to, const char *from, uint64_t bytes)
{
    struct gf_move move = {from, NULL, NULL, 0, 0, to, NULL, NULL, 0, bytes};
    gf_copy_chunk(team, move);
}

/* Bytes of `total` for each of `parts`, in whole lines, so that all parts begin equally aligned. */
GF_INLINE uint64_t gf_even_share(uint64_t total, uint32_t parts)
{
    uint64_t share = (total + parts - 1) / parts;
    return (share + GF_LINE - 1) / GF_LINE * GF_LINE;
}

/* This block's part of `total` bytes. */
GF_INLINE struct gf_range gf_block_range(const struct gf_team *team, uint64_t total)
{
    struct gf_range range;
    uint64_t share = gf_even_share(total, team->blocks);
    range.begin = team->block * share < total ? team->block * share : total;
    range.end = total - range.begin < share ? total : range.begin + share;
    return range;
}

#endif
