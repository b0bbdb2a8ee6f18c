/* SPDX-License-Identifier: BSD-3-Clause */
#include "mca_coll_gpufifo/kept.h"

/* One direction's arguments of a call, each null if the function has none such, and the layouts that may name them. Both
 * directions may have the same arrays. */
struct arguments {
    gf_mpi_counts *counts;
    gf_mpi_displs *displs;
    gf_mpi_byte_displs *bytes;
    ompi_datatype_t *const **types;
    struct gf_layout *layouts[2];      /* may be the same */
    int parts;                         /* of each array; 0: they are not significant on this rank */
};

static bool names(const struct gf_layout *layout, gf_mpi_counts counts)
{
    return layout->kind >= GF_LAYOUT_V && layout->counts == counts;
}

/* Which arrays there are tells the layout that names them; without one, as in a reduce-scatter, there are counts. */
static enum gf_layout_kind look_at(struct arguments *a)
{
    enum gf_layout_kind kind = GF_LAYOUT_NONE;

    for (int i = 0; i < 2; i++) {
        if (names(a->layouts[i], *a->counts)) {
            a->parts = a->layouts[i]->end > a->parts ? a->layouts[i]->end : a->parts;
            kind = a->layouts[i]->kind;
        }
    }
    return kind;
}

static void name_copies(const struct arguments *a, gf_mpi_counts before)
{
    for (int i = 0; i < 2; i++) {
        struct gf_layout *layout = a->layouts[i];

        if (!names(layout, before)) {
            continue;
        }
        layout->counts = *a->counts;
        if (layout->kind != GF_LAYOUT_V) {
            layout->types = *a->types;
        }
        if (layout->kind == GF_LAYOUT_W_BYTES) {
            layout->byte_displs = *a->bytes;
        } else {
            layout->displs = *a->displs;
        }
    }
}

static bool copy(struct arguments *a, void **block)
{
    gf_mpi_counts before = *a->counts;
    enum gf_layout_kind kind = look_at(a);
    size_t parts = (size_t)a->parts;

    if (parts == 0) {
        return true;
    }
    ompi_datatype_t **types = malloc(parts * (sizeof *types + sizeof(MPI_Aint) + sizeof(gf_mpi_displ_entry)
                                              + sizeof(gf_mpi_count_entry)));
    if (!types) {
        return false;
    }
    MPI_Aint *bytes = (MPI_Aint *)(types + parts);
    gf_mpi_displ_entry *displs = (gf_mpi_displ_entry *)(bytes + parts);
    gf_mpi_count_entry *counts = (gf_mpi_count_entry *)(displs + parts);

    for (int i = 0; i < a->parts; i++) {
        counts[i] = (gf_mpi_count_entry)gf_mpi_count_at(before, i);
        if (kind == GF_LAYOUT_V || kind == GF_LAYOUT_W) {
            displs[i] = (gf_mpi_displ_entry)gf_mpi_displ_at(*a->displs, i);
        } else if (kind == GF_LAYOUT_W_BYTES) {
            bytes[i] = gf_mpi_byte_displ_at(*a->bytes, i);
        }
        if (kind == GF_LAYOUT_W || kind == GF_LAYOUT_W_BYTES) {
            types[i] = (*a->types)[i];
        }
    }
    *block = types;
    *a->counts = gf_mpi_counts_of(counts);
    *a->displs = gf_mpi_displs_of(displs);
    *a->bytes = gf_mpi_byte_displs_of(bytes);
    *a->types = types;
    name_copies(a, before);
    return true;
}

bool gf_kept_copy(struct gf_saved_call *saved, struct gf_stage_call *call, void *blocks[2])
{
    struct arguments sent = {&saved->scounts, &saved->sdispls, &saved->sbytes, &saved->stypes,
                             {&call->send.in, &call->send.in}, 0};
    struct arguments received = {&saved->rcounts, &saved->rdispls, &saved->rbytes, &saved->rtypes,
                                 {&call->recv.in, &call->recv.out}, 0};

    blocks[0] = blocks[1] = NULL;
    if (saved->op && !gf_mpi_counts_missing(saved->rcounts)) {
        received.parts = ompi_comm_size(saved->module->comm);
    }
    if ((!gf_mpi_counts_missing(saved->scounts) && !copy(&sent, &blocks[0]))
        || (!gf_mpi_counts_missing(saved->rcounts) && !copy(&received, &blocks[1]))) {
        free(blocks[0]);
        return false;
    }
    return true;
}
