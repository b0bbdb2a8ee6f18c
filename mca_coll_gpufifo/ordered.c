/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Piece by piece, each rank gets the data of all and reduces what it needs. The arithmetic is the kernels' where they have one
 * for the type and operation, else Open MPI's or the program's.
 */
#include "mca_coll_gpufifo/ordered.h"

#include "mca_coll_gpufifo/coll/coll.h"
#include "mca_coll_gpufifo/datatype.h"
#include "mca_coll_gpufifo/op.h"
#include "proxy/host_reduce.h"

static GF_COLL_FUNCTION(allreduce) ordered_allreduce;
static GF_COLL_FUNCTION(reduce) ordered_reduce;
static GF_COLL_FUNCTION(scan) ordered_scan;
static GF_COLL_FUNCTION(exscan) ordered_exscan;
static GF_COLL_FUNCTION(reduce_scatter) ordered_reduce_scatter;
static GF_COLL_FUNCTION(reduce_scatter_block) ordered_reduce_scatter_block;

enum { GATHERED_BYTES = 4 << 20, ALIGN = 64 };   /* of a piece, all ranks together */

/* One call. Pieces travel packed, for elements of a type may lie inside one another. */
struct reduction {
    const char *own;                 /* this rank's data */
    ompi_datatype_t *datatype;
    ompi_op_t *op_handle;
    ompi_communicator_t *comm;
    const mca_coll_base_comm_coll_t *saved;
    ptrdiff_t extent;
    size_t size;                     /* of a packed element */
    size_t piece;                    /* elements */
    bool ours;                       /* the kernels have arithmetic for it, on elements that are packed as they lie: */
    enum gf_type type;
    enum gf_op op;
    char *memory;                    /* all of the following */
    char *gathered, *packed;         /* pieces of all ranks, one behind the other; of this one */
    char *laid_out[2];               /* pieces as the type has them; where their elements are counted from */
};

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int allocate(struct reduction *r, size_t ranks)
{
    ptrdiff_t gap, span = opal_datatype_span(&r->datatype->super, (int64_t)r->piece, &gap);
    size_t packed = rounded(r->piece * r->size), gathered = rounded(r->piece * r->size * ranks);
    size_t laid_out = rounded(span > 0 ? (size_t)span : 0);

    r->memory = malloc(gathered + packed + 2 * laid_out + 1);
    if (!r->memory) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    r->gathered = r->memory;
    r->packed = r->memory + gathered;
    r->laid_out[0] = r->packed + packed - gap;
    r->laid_out[1] = r->laid_out[0] + laid_out;
    return MPI_SUCCESS;
}

static int begin(struct reduction *r, const void *send, const void *recv, size_t most, ompi_datatype_t *datatype, ompi_op_t *op,
                 ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    size_t ranks = (size_t)ompi_comm_size(comm);
    ptrdiff_t lower;

    *r = (struct reduction){ .own = send == MPI_IN_PLACE ? recv : send, .datatype = datatype, .op_handle = op, .comm = comm,
                             .saved = gf_coll_saved(base) };
    ompi_datatype_get_extent(datatype, &lower, &r->extent);
    ompi_datatype_type_size(datatype, &r->size);
    r->ours = ranks <= GF_MAX_RANKS && gf_datatype_element(datatype, &r->type) && gf_op_predefined(op, &r->op)
        && gf_op_allowed(r->type, r->op) && gf_type_size(r->type) == r->size && (ptrdiff_t)r->size == r->extent;
    r->piece = GATHERED_BYTES / ranks / (r->size > 0 ? r->size : 1);
    r->piece = r->piece < 1 ? 1 : r->piece > most ? most : r->piece;
    return allocate(r, ranks);
}

static int gather_piece(const struct reduction *r, const char *own, size_t elements)
{
    size_t bytes = elements * r->size;
    int error = r->ours ? MPI_SUCCESS
        : ompi_datatype_sndrcv((void *)(uintptr_t)own, (gf_mpi_count)elements, r->datatype, r->packed, (gf_mpi_count)bytes,
                               &ompi_mpi_packed.dt);

    if (error != MPI_SUCCESS) {
        return error;
    }
    return r->saved->coll_allgather(r->ours ? own : r->packed, (gf_mpi_count)bytes, &ompi_mpi_byte.dt, r->gathered,
                                    (gf_mpi_count)bytes, &ompi_mpi_byte.dt, r->comm, r->saved->coll_allgather_module);
}

/* Of the ranks before `end`, of which there is one. */
static int reduce_piece(const struct reduction *r, int end, size_t elements, char *result)
{
    const void *inputs[GF_MAX_RANKS];
    size_t bytes = elements * r->size;
    int error = MPI_SUCCESS;

    if (r->ours) {
        for (int rank = 0; rank < end; rank++) {
            inputs[rank] = r->gathered + (size_t)rank * bytes;
        }
        gf_host_reduce(inputs, end, result, bytes, r->type, r->op);
        return MPI_SUCCESS;
    }
    for (int rank = 0; rank < end && error == MPI_SUCCESS; rank++) {
        char *left = r->laid_out[(rank + 1) % 2], *right = r->laid_out[rank % 2];

        error = ompi_datatype_sndrcv(r->gathered + (size_t)rank * bytes, (gf_mpi_count)bytes, &ompi_mpi_packed.dt, right,
                                     (gf_mpi_count)elements, r->datatype);
        if (error == MPI_SUCCESS && rank > 0) {
            ompi_op_reduce(r->op_handle, left, right, (gf_mpi_count)elements, r->datatype);
        }
    }
    return error == MPI_SUCCESS ? ompi_datatype_copy_content_same_ddt(r->datatype, (int32_t)elements, result,
                                                                      r->laid_out[(end - 1) % 2]) : error;
}

/* Elements [first, first + count) of all ranks' data, of which the ranks before `end` are reduced into `result`. Collective; only
 * result and end are a rank's own. */
static int reduce(const struct reduction *r, size_t first, size_t count, int end, void *result)
{
    int error = MPI_SUCCESS;

    for (size_t done = 0; done < count && error == MPI_SUCCESS; done += r->piece) {
        size_t elements = count - done < r->piece ? count - done : r->piece;

        error = gather_piece(r, r->own + (ptrdiff_t)(first + done) * r->extent, elements);
        if (error == MPI_SUCCESS && end > 0) {
            error = reduce_piece(r, end, elements, (char *)result + (ptrdiff_t)done * r->extent);
        }
    }
    return error;
}

/* All data in one, of the ranks before `end`. */
static int reduce_whole(const void *send, void *recv, size_t count, ompi_datatype_t *datatype, ompi_op_t *op, int end,
                        ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    struct reduction r;
    int error = count > 0 ? begin(&r, send, recv, count, datatype, op, comm, base) : MPI_SUCCESS;

    if (count > 0 && error == MPI_SUCCESS) {
        error = reduce(&r, 0, count, end, recv);
        free(r.memory);
    }
    return error;
}

static int ordered_allreduce(const void *send, void *recv, gf_mpi_count count, ompi_datatype_t *datatype, ompi_op_t *op,
                             ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    return reduce_whole(send, recv, (size_t)count, datatype, op, ompi_comm_size(comm), comm, base);
}

static int ordered_reduce(const void *send, void *recv, gf_mpi_count count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    int end = ompi_comm_rank(comm) == root ? ompi_comm_size(comm) : 0;

    return reduce_whole(send, recv, (size_t)count, datatype, op, end, comm, base);
}

static int ordered_scan(const void *send, void *recv, gf_mpi_count count, ompi_datatype_t *datatype, ompi_op_t *op,
                        ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    return reduce_whole(send, recv, (size_t)count, datatype, op, ompi_comm_rank(comm) + 1, comm, base);
}

static int ordered_exscan(const void *send, void *recv, gf_mpi_count count, ompi_datatype_t *datatype, ompi_op_t *op,
                          ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    return reduce_whole(send, recv, (size_t)count, datatype, op, ompi_comm_rank(comm), comm, base);
}

/* Rank's share is the next `counts` elements. In place, the result begins where the data do: what is overwritten has been
 * gathered. */
static int reduce_shares(struct reduction *r, gf_mpi_counts counts, size_t equal, void *recv)
{
    int ranks = ompi_comm_size(r->comm), error = MPI_SUCCESS;
    size_t first = 0;

    for (int rank = 0; rank < ranks && error == MPI_SUCCESS; rank++) {
        size_t count = equal ? equal : gf_mpi_count_at(counts, rank);

        error = reduce(r, first, count, rank == ompi_comm_rank(r->comm) ? ranks : 0, recv);
        first += count;
    }
    return error;
}

static int ordered_reduce_scatter(const void *send, void *recv, gf_mpi_counts counts, ompi_datatype_t *datatype, ompi_op_t *op,
                                  ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    struct reduction r;
    size_t most = 1;

    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        most = gf_mpi_count_at(counts, rank) > most ? gf_mpi_count_at(counts, rank) : most;
    }
    int error = begin(&r, send, recv, most, datatype, op, comm, base);

    error = error == MPI_SUCCESS ? reduce_shares(&r, counts, 0, recv) : error;
    free(r.memory);
    return error;
}

static int ordered_reduce_scatter_block(const void *send, void *recv, gf_mpi_count count, ompi_datatype_t *datatype,
                                        ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    gf_mpi_counts none = { 0 };
    struct reduction r;

    if (count == 0) {
        return MPI_SUCCESS;
    }
    int error = begin(&r, send, recv, (size_t)count, datatype, op, comm, base);

    error = error == MPI_SUCCESS ? reduce_shares(&r, none, (size_t)count, recv) : error;
    free(r.memory);
    return error;
}

/* Where a collective is in the table of saved ones. */
static const struct place {
    size_t function, owner;
    gf_any_function ours;
} places[GF_ORDERED_COUNT] = {
#define PLACE(name) { offsetof(mca_coll_base_comm_coll_t, coll_##name), \
                      offsetof(mca_coll_base_comm_coll_t, coll_##name##_module), (gf_any_function)ordered_##name }
    PLACE(allreduce), PLACE(reduce), PLACE(reduce_scatter), PLACE(reduce_scatter_block), PLACE(scan), PLACE(exscan),
#undef PLACE
};

static void exchange(mca_coll_base_comm_coll_t *table, const struct place *place, struct gf_ordered_slot *slot)
{
    gf_any_function *function = (gf_any_function *)((char *)table + place->function);
    mca_coll_base_module_t **owner = (mca_coll_base_module_t **)((char *)table + place->owner);
    struct gf_ordered_slot other = { *function, *owner };

    *function = slot->function;
    *owner = slot->owner;
    *slot = other;
}

void gf_ordered_enable(struct mca_coll_gpufifo_module_t *module)
{
    struct gf_ordered *ordered = &module->ordered;

    if (ordered->enabled || OMPI_COMM_IS_INTER(module->comm) || !module->saved.coll_allgather) {
        return;
    }
    ordered->enabled = true;
    for (int i = 0; i < GF_ORDERED_COUNT; i++) {
        ordered->saved[i] = (struct gf_ordered_slot){ places[i].ours, &module->super };
        exchange(&module->saved, &places[i], &ordered->saved[i]);
    }
}

void gf_ordered_disable(struct mca_coll_gpufifo_module_t *module)
{
    for (int i = 0; i < GF_ORDERED_COUNT && module->ordered.enabled; i++) {
        exchange(&module->saved, &places[i], &module->ordered.saved[i]);
    }
    module->ordered.enabled = false;
}
