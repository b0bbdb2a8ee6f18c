/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A datatype without its history: where the blocks of one element are, in the order of its data. However the type was made, equal
 * places give an equal description:
 *
 *   strided   blocks of one length, whose places count up through at most GF_FLAT_DIMS dimensions: no memory, no search
 *   listed    anything else: the place of each block, and unless all are of one length, where it begins in the data
 *
 * Who makes one gives the blocks to a builder, one after the other. Those that touch become one.
 */
#ifndef GF_CORE_FLAT_H
#define GF_CORE_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"

enum { GF_FLAT_DIMS = 3 };

struct gf_flat_dim {
    uint64_t count;              /* at least 2 */
    int64_t stride;              /* bytes */
};

/* One allocation of so many bytes, which begins with offsets: a copy of it on a device is used with the same distances. */
struct gf_flat_list {
    int64_t *offsets;            /* of each block; null: strided */
    uint64_t *starts;            /* where each block begins in the data; null: all are of one length */
    uint32_t *hints;             /* beside starts: the block that has byte n << hint_shift, and the last one once more */
    size_t bytes;
    uint32_t hint_shift;
    uint64_t bits;               /* all offsets and lengths, or-ed: how they are aligned */
};

/* Owner: who finished its builder; gf_flat_free. Constant then, so that any thread may read it. */
struct gf_flat {
    uint64_t bytes;              /* of data; 0: there is no block */
    int64_t extent;              /* from one element to the next */
    uint64_t blocks;
    uint64_t block;              /* bytes of each block; 0: they differ */
    int64_t offset;              /* of the first block from the element's address */
    uint32_t dims;               /* strided: the innermost first */
    struct gf_flat_dim dim[GF_FLAT_DIMS];
    struct gf_flat_list list;
};

/* Bytes that lie together. */
struct gf_flat_block {
    int64_t offset;
    uint64_t bytes;
};

/* Owner: the caller, one thread. */
struct gf_flat_builder {
    struct gf_flat flat;
    struct gf_flat_block last;           /* may still grow; no bytes: none yet */
    uint64_t index[GF_FLAT_DIMS];        /* of the last block that is in the dimensions */
    struct gf_flat_block *blocks;        /* all, once they fit into no dimensions; null before */
    size_t capacity;
};

/* extent: bytes from one element to the next. Nothing is to be freed before the first gf_flat_add. */
void gf_flat_begin(struct gf_flat_builder *builder, int64_t extent);

/* The next block of at least one byte. GF_ERR_NO_MEMORY with a sentence: abandon it. */
gf_status gf_flat_add(struct gf_flat_builder *builder, int64_t offset, uint64_t bytes, struct gf_reason *why);

/* The description; the builder is used up, also on failure. */
gf_status gf_flat_finish(struct gf_flat_builder *builder, struct gf_flat *flat, struct gf_reason *why);

/* Ends a builder that shall not be finished. */
void gf_flat_abandon(struct gf_flat_builder *builder);

/* Accepts one that was freed, or is all zero. */
void gf_flat_free(struct gf_flat *flat);

/* The number-th block, number < blocks. */
struct gf_flat_block gf_flat_block(const struct gf_flat *flat, uint64_t number);

#endif
