/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From MPI's counts, displacements and types to bytes. Open MPI's own convertor walks the type maps.
 */
#include "mca_coll_gpufifo/stage_layout.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "opal/datatype/opal_convertor.h"

static ptrdiff_t extent_of(const ompi_datatype_t *type)
{
    return type->super.ub - type->super.lb;
}

/* Neighbours of a grid come in pairs, one a dimension: the lower one, then the upper one. */
static bool neighbour_exists(const mca_topo_base_comm_cart_t *grid, int part)
{
    int dimension = part / 2;

    if (grid->periods[dimension]) {
        return true;
    }
    return part % 2 ? grid->coords[dimension] + 1 < grid->dims[dimension] : grid->coords[dimension] > 0;
}

struct gf_layout_part gf_layout_part(const struct gf_layout *layout, int part)
{
    struct gf_layout_part none = {0};

    if (layout->grid && !neighbour_exists(layout->grid, part)) {
        return none;
    }
    switch (layout->kind) {
    case GF_LAYOUT_EQUAL:
        return (struct gf_layout_part){layout->count, layout->type,
                                       (ptrdiff_t)layout->count * part * extent_of(layout->type)};
    case GF_LAYOUT_V:
        return (struct gf_layout_part){gf_mpi_count_at(layout->counts, part), layout->type,
                                       gf_mpi_displ_at(layout->displs, part) * extent_of(layout->type)};
    case GF_LAYOUT_W:
        return (struct gf_layout_part){gf_mpi_count_at(layout->counts, part), layout->types[part],
                                       gf_mpi_displ_at(layout->displs, part)};
    case GF_LAYOUT_W_BYTES:
        return (struct gf_layout_part){gf_mpi_count_at(layout->counts, part), layout->types[part],
                                       gf_mpi_byte_displ_at(layout->byte_displs, part)};
    case GF_LAYOUT_NONE:
        break;
    }
    return none;
}

static bool is_empty(const struct gf_layout_part *part)
{
    return part->count == 0 || part->type->super.size == 0;
}

bool gf_layout_any_byte_of_parts(const struct gf_layout *layout, ptrdiff_t *offset)
{
    for (int i = layout->begin; i < layout->end; i++) {
        struct gf_layout_part part = gf_layout_part(layout, i);

        if (!is_empty(&part)) {
            *offset = part.offset + part.type->super.true_lb;
            return true;
        }
    }
    return false;
}

struct gf_layout_span gf_layout_measure(const struct gf_layout *layout)
{
    struct gf_layout_span span = {0, 0, 0};

    for (int i = layout->begin; i < layout->end; i++) {
        struct gf_layout_part part = gf_layout_part(layout, i);

        if (is_empty(&part)) {
            continue;
        }
        /* A negative extent puts the last element below the first. */
        ptrdiff_t last = (ptrdiff_t)(part.count - 1) * extent_of(part.type);
        ptrdiff_t low = part.offset + part.type->super.true_lb + (last < 0 ? last : 0);
        ptrdiff_t high = part.offset + part.type->super.true_ub + (last > 0 ? last : 0);

        if (span.bytes == 0 || low < span.low) {
            span.low = low;
        }
        if (span.bytes == 0 || high > span.high) {
            span.high = high;
        }
        span.bytes += part.count * part.type->super.size;
    }
    return span;
}

static bool append(struct gf_block_list *list, ptrdiff_t offset, size_t bytes)
{
    struct gf_block *last = list->count ? &list->blocks[list->count - 1] : NULL;

    if (last && last->offset + (ptrdiff_t)last->bytes == offset) {
        last->bytes += bytes;
        return true;
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct gf_block *blocks = realloc(list->blocks, capacity * sizeof *blocks);

        if (!blocks) {
            return false;
        }
        list->blocks = blocks;
        list->capacity = capacity;
    }
    list->blocks[list->count++] = (struct gf_block){offset, bytes};
    return true;
}

/* The convertor is given the part's offset for an address: it computes addresses and touches nothing. */
static bool append_part(struct gf_block_list *list, const struct gf_layout_part *part)
{
    enum { BATCH = 64 };
    opal_convertor_t convertor;
    struct iovec runs[BATCH];
    bool ok = true;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &part->type->super, part->count, (void *)part->offset, 0,
                                             &convertor);
    for (int done = 0; ok && !done;) {
        uint32_t count = BATCH;
        size_t bytes;

        done = opal_convertor_raw(&convertor, runs, &count, &bytes);
        for (uint32_t i = 0; ok && i < count; i++) {
            ok = append(list, (ptrdiff_t)runs[i].iov_base, runs[i].iov_len);
        }
    }
    OBJ_DESTRUCT(&convertor);
    return ok;
}

gf_status gf_layout_list(const struct gf_layout *layout, struct gf_block_list *list, struct gf_reason *why)
{
    for (int i = layout->begin; i < layout->end; i++) {
        struct gf_layout_part part = gf_layout_part(layout, i);

        if (!is_empty(&part) && !append_part(list, &part)) {
            gf_reason_set(why, "no host memory for the list of a datatype's %zu blocks; use a type with fewer, longer blocks",
                          list->count);
            return GF_ERR_NO_MEMORY;
        }
    }
    return GF_OK;
}
