/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the data of one buffer argument lies, relative to the address that the program passed. A layout is the argument list
 * of MPI in one form: equal parts one after another, or a part a rank with counts, displacements and types of its own.
 *
 * A layout borrows the arrays and types of the call that it describes; nothing here allocates but gf_layout_list.
 */
#ifndef GF_MCA_STAGE_LAYOUT_H
#define GF_MCA_STAGE_LAYOUT_H

#include "mca_coll_gpufifo/ompi_abi.h"

#include "ompi/mca/topo/topo.h"

#include "base/status.h"

enum gf_layout_kind {
    GF_LAYOUT_NONE,          /* no data: this rank's role makes the argument insignificant */
    GF_LAYOUT_EQUAL,         /* `count` elements of `type` a part, part after part */
    GF_LAYOUT_V,             /* counts[i] elements of `type` at displs[i] elements */
    GF_LAYOUT_W,             /* counts[i] elements of types[i] at displs[i] bytes */
    GF_LAYOUT_W_BYTES        /* the same with address-sized displacements */
};

struct gf_layout {
    enum gf_layout_kind kind;
    int begin, end;                          /* the parts that count: begin <= part < end */
    union {
        size_t count;                        /* EQUAL: of one part */
        gf_mpi_counts counts;                /* all others */
    };
    union {
        ompi_datatype_t *type;               /* EQUAL, V */
        ompi_datatype_t *const *types;       /* W, W_BYTES */
    };
    union {
        gf_mpi_displs displs;                /* V, W */
        gf_mpi_byte_displs byte_displs;      /* W_BYTES */
    };
    const mca_topo_base_comm_cart_t *grid;   /* not null: parts of neighbours beyond the edge of this grid do not count */
};

/* One part: elements, their type, and the distance in bytes of the first element's origin from the buffer's address. */
struct gf_layout_part {
    size_t count;
    const ompi_datatype_t *type;
    ptrdiff_t offset;
};

/* The bytes from the lowest to the highest that the data touches, low <= offset < high, and how many of them are data
 * (bytes that overlapping parts share count once for each). All 0 where there is no data. */
struct gf_layout_span {
    ptrdiff_t low, high;
    size_t bytes;
};

/* A contiguous run of data, at a distance from the buffer's address. */
struct gf_block {
    ptrdiff_t offset;
    size_t bytes;
};

/* Owner: who calls gf_layout_list; free(blocks). */
struct gf_block_list {
    struct gf_block *blocks;
    size_t count, capacity;
};

static inline struct gf_layout gf_layout_none(void) { return (struct gf_layout){.kind = GF_LAYOUT_NONE}; }

/* `parts` times `count` elements, without gaps between the parts. */
static inline struct gf_layout gf_layout_equal(int parts, size_t count, ompi_datatype_t *type)
{
    return (struct gf_layout){.kind = GF_LAYOUT_EQUAL, .end = parts, .count = count, .type = type};
}

static inline struct gf_layout gf_layout_v(int parts, gf_mpi_counts counts, gf_mpi_displs displs, ompi_datatype_t *type)
{
    return (struct gf_layout){.kind = GF_LAYOUT_V, .end = parts, .counts = counts, .displs = displs, .type = type};
}

static inline struct gf_layout gf_layout_w(int parts, gf_mpi_counts counts, gf_mpi_displs displs, ompi_datatype_t *const *types)
{
    return (struct gf_layout){.kind = GF_LAYOUT_W, .end = parts, .counts = counts, .displs = displs, .types = types};
}

static inline struct gf_layout gf_layout_w_bytes(int parts, gf_mpi_counts counts, gf_mpi_byte_displs displs,
                                                 ompi_datatype_t *const *types)
{
    return (struct gf_layout){.kind = GF_LAYOUT_W_BYTES, .end = parts, .counts = counts, .byte_displs = displs, .types = types};
}

/* Of all parts only this one, where it is. */
static inline struct gf_layout gf_layout_only(struct gf_layout layout, int part)
{
    layout.begin = part;
    layout.end = part + 1;
    return layout;
}

/* Parts of a neighbourhood collective: those of missing neighbours (MPI_PROC_NULL) are neither read nor written. */
static inline struct gf_layout gf_layout_on_grid(struct gf_layout layout, const mca_topo_base_comm_cart_t *grid)
{
    layout.grid = grid;
    return layout;
}

/* A buffer's address plus an offset. The address may be null (MPI_BOTTOM) or outside of all memory; the data is not. */
static inline void *gf_layout_address(const void *buffer, ptrdiff_t offset)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)offset);
}

struct gf_layout_part gf_layout_part(const struct gf_layout *layout, int part);

/* The offset of some byte of data in *offset; false where there is no data. Stops at the first part that has some. Every call of
 * a host-only program asks this: no detour for plain buffers. */
bool gf_layout_any_byte_of_parts(const struct gf_layout *layout, ptrdiff_t *offset);
static inline bool gf_layout_any_byte(const struct gf_layout *layout, ptrdiff_t *offset)
{
    if (layout->begin == layout->end) {
        return false;
    }
    if (layout->kind == GF_LAYOUT_EQUAL && layout->begin == 0 && !layout->grid) {
        *offset = layout->type->super.true_lb;
        return layout->count > 0 && layout->type->super.size > 0;
    }
    return gf_layout_any_byte_of_parts(layout, offset);
}

struct gf_layout_span gf_layout_measure(const struct gf_layout *layout);

/* Appends the layout's blocks in the order in which the type map names them; blocks that touch are merged. *list starts zeroed.
 * GF_ERR_NO_MEMORY with a sentence; the list then still belongs to the caller. */
gf_status gf_layout_list(const struct gf_layout *layout, struct gf_block_list *list, struct gf_reason *why);

#endif
