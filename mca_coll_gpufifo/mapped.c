/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a call's description to an exchange of blocks.
 */
#include "mca_coll_gpufifo/mapped.h"

#include "core/exchange.h"
#include "mca_coll_gpufifo/native.h"

/* One call, as this rank sees it. */
struct call {
    struct gf_native_call native;      /* first */
    enum gf_exchange_kind kind;
    int root, rank, ranks;
    struct gf_exchange exchange;
};

/* The part's bytes, if they have no gaps, at a distance from the buffer's address. */
static bool find_block(const struct gf_layout *layout, int index, struct gf_block *block)
{
    struct gf_layout_part part = gf_layout_part(layout, index);

    *block = (struct gf_block){0, 0};
    if (part.count == 0 || part.type->super.size == 0) {
        return true;
    }
    *block = (struct gf_block){part.offset + part.type->super.true_lb, part.count * part.type->super.size};
    return opal_datatype_is_contiguous_memory_layout(&part.type->super, (int32_t)(part.count > 1 ? 2 : 1));
}

/* Where one side's blocks are, by peer. Returns false where one has gaps. */
static bool find_blocks(const struct gf_layout *layout, bool one_for_all, int ranks, struct gf_block *blocks)
{
    for (int rank = 0; rank < ranks; rank++) {
        int part = one_for_all ? layout->begin : rank;

        blocks[rank] = (struct gf_block){0, 0};
        if (part >= layout->begin && part < layout->end && !find_block(layout, part, &blocks[rank])) {
            return false;
        }
    }
    return true;
}

/* The buffer that has these blocks, and the blocks as distances from where the first one begins. False: it is not in device
 * memory, or not in one allocation. */
static bool place_blocks(void *user, const struct gf_block *found, int ranks, struct gf_exchange_buffer *buffer,
                         struct gf_registry_block *blocks)
{
    ptrdiff_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;

    for (int rank = 0; rank < ranks; rank++) {
        ptrdiff_t end = found[rank].offset + (ptrdiff_t)found[rank].bytes;

        if (found[rank].bytes > 0) {
            low = found[rank].offset < low ? found[rank].offset : low;
            high = end > high ? end : high;
        }
    }
    for (int rank = 0; rank < ranks; rank++) {
        blocks[rank] = (struct gf_registry_block){found[rank].bytes ? (uint64_t)(found[rank].offset - low) : 0, found[rank].bytes};
    }
    if (low > high) {
        return true;
    }
    buffer->address = gf_layout_address(user, low);
    buffer->bytes = (size_t)(high - low);
    gf_memory_locate(buffer->address, &buffer->where);
    return buffer->where.kind == GF_MEMORY_DEVICE &&
           buffer->bytes <= buffer->where.size - (size_t)(buffer->address - (char *)buffer->where.base);
}

/* Of a broadcast only the root gives, and only the others take, from the root. */
static void keep_root(const struct call *call, struct gf_block *given, struct gf_block *taken)
{
    for (int rank = 0; rank < call->ranks; rank++) {
        if (rank != call->root) {
            taken[rank].bytes = 0;
        }
    }
    given[call->root].bytes = 0;
}

/* What this rank gives and takes, or why it cannot do so natively. */
static const char *describe(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;
    const struct gf_stage_call *stage = native->stage;
    struct gf_exchange *x = &call->exchange;
    bool bcast = call->kind == GF_EXCHANGE_BCAST, in_place = stage->send.user == MPI_IN_PLACE;
    const struct gf_stage_buffer *from = bcast || in_place ? &stage->recv : &stage->send;
    struct gf_block given[GF_MAX_RANKS], taken[GF_MAX_RANKS];

    if (!find_blocks(&from->in, call->kind != GF_EXCHANGE_ALLTOALL, call->ranks, given) ||
        !find_blocks(&stage->recv.out, bcast, call->ranks, taken)) {
        return "its datatypes have gaps";
    }
    if (bcast) {
        keep_root(call, given, taken);
    } else if (in_place) {
        given[call->rank].bytes = taken[call->rank].bytes = 0;
    }
    x->in_place = in_place && call->kind == GF_EXCHANGE_ALLTOALL;
    x->what[0] = (uint64_t)call->kind << 32 | x->in_place;
    x->what[1] = (uint64_t)call->root;
    if (!place_blocks(from->user, given, call->ranks, &x->send, x->give) ||
        !place_blocks(stage->recv.user, taken, call->ranks, &x->recv, x->take)) {
        return "this rank's buffers are not in one allocation of device memory each";
    }
    if (x->send.address && x->recv.address && x->send.where.ordinal != x->recv.where.ordinal) {
        return "this rank's buffers are on two devices";
    }
    native->ordinal = x->recv.address ? x->recv.where.ordinal : x->send.where.ordinal;
    return x->send.address || x->recv.address ? NULL : "this rank has no data";
}

static void count_path(const struct call *call)
{
    enum gf_algorithm algorithm = gf_comm_last_exchange(call->native.module->device_comm)->algorithm;

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, algorithm == GF_PLAN_EXCHANGE        ? GF_PATH_EXCHANGE
                                                      : algorithm == GF_PLAN_EXCHANGE_COPY ? GF_PATH_EXCHANGE_COPY
                                                                                           : GF_PATH_LOCAL,
                   gf_native_bytes(call->native.stage));
}

static gf_status run(struct gf_native_call *native, struct gf_reason *why)
{
    struct call *call = (struct call *)native;
    gf_status status = gf_comm_exchange(native->module->device_comm, &call->exchange, why);

    if (status == GF_OK) {
        count_path(call);
    }
    return status;
}

bool gf_mapped_run(struct gf_stage_call *stage, enum gf_exchange_kind kind, int root, ompi_communicator_t *comm,
                   const char *function, mca_coll_base_module_t *base)
{
    struct call call = {.native = {.stage = stage, .module = (mca_coll_gpufifo_module_t *)base, .function = function,
                                   .describe = describe, .run = run},
                        .kind = kind, .root = root, .rank = ompi_comm_rank(comm), .ranks = ompi_comm_size(comm),
                        .exchange = {.name = function}};

    return gf_native_call_run(&call.native);
}
