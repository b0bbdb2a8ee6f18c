/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a call's description to this rank's part of a reduction.
 */
#include "mca_coll_gpufifo/reduction.h"

#include "core/reduction.h"
#include "mca_coll_gpufifo/between/reduce.h"
#include "mca_coll_gpufifo/between/scan.h"
#include "mca_coll_gpufifo/datatype.h"
#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/mapped_buffer.h"
#include "mca_coll_gpufifo/op.h"
#include "mca_coll_gpufifo/stage_pool.h"

/* Memory that a result in place is made in. */
struct aside {
    struct gf_stage_pool *pool;
    struct gf_device_piece *piece;     /* null: there is none */
};

/* One call, as this rank sees it. */
struct call {
    struct gf_native_call native;      /* first */
    const struct gf_reduction_call *what;
    int rank, ranks;
    struct gf_reduce reduce;
    struct aside aside;
    struct gf_between_reduce *by_messages;   /* null: it is none of those */
    struct gf_between_scan *scan_by_messages;   /* likewise */
};

/* Elements of one part, or none. */
static size_t elements(const struct gf_layout *layout)
{
    return layout->end > layout->begin ? layout->count : 0;
}

/* False: not in device memory, or not in one allocation. */
static bool place(void *user, size_t bytes, struct gf_mapped_buffer *buffer)
{
    if (bytes == 0) {
        return true;
    }
    *buffer = (struct gf_mapped_buffer){.address = user, .bytes = bytes};
    return gf_mapped_buffer_locate(buffer);
}

/* The contributions of which ranks this rank's elements are made of. */
static int count_inputs(const struct call *call)
{
    switch (call->what->kind) {
    case GF_REDUCTION_SCAN:
        return call->rank + 1;
    case GF_REDUCTION_EXSCAN:
        return call->rank;
    default:
        return call->ranks;
    }
}

/* In place, do other ranks load from where this rank's result goes? What the root of a reduce and the first rank of a scatter
 * contribute there, they load alone, element by element as they store; the last rank of a scan likewise, or nobody. */
static bool is_exposed(const struct call *call)
{
    switch (call->what->kind) {
    case GF_REDUCTION_REDUCE:
        return false;
    case GF_REDUCTION_SCATTER:
        return call->rank > 0;
    case GF_REDUCTION_ALL:
        return true;
    default:
        return call->rank < call->ranks - 1;
    }
}

/* Before the ranks agree, so that one that has no memory can still say no. */
static const char *make_room_aside(struct call *call)
{
    struct aside *aside = &call->aside;
    struct gf_reason why;

    if (gf_stage_pool_get(mca_coll_gpufifo_component.staging, call->native.ordinal, &aside->pool, &why) != GF_OK ||
        gf_device_memory_alloc(gf_stage_pool_memory(aside->pool), call->reduce.recv.bytes, &aside->piece, &why) != GF_OK) {
        return "there is no device memory for a result in place";
    }
    call->reduce.aside = aside->piece->address;
    return NULL;
}

static void release_aside(const struct aside *aside)
{
    if (aside->piece) {
        gf_device_memory_free(gf_stage_pool_memory(aside->pool), aside->piece);
    }
}

static bool is_scan(const struct call *call)
{
    return call->what->kind == GF_REDUCTION_SCAN || call->what->kind == GF_REDUCTION_EXSCAN;
}

/* Between nodes: a contribution, or a rank's share of it. The same on all ranks. */
static size_t largest_message(const struct call *call)
{
    size_t parts = is_scan(call) ? 1 : (size_t)call->ranks;

    return (call->what->count + parts - 1) / parts * gf_type_size(call->reduce.type);
}

/* What this rank contributes and makes, or why it cannot do so natively. */
static const char *describe(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;
    const struct gf_reduction_call *what = call->what;
    const struct gf_stage_call *stage = native->stage;
    struct gf_reduce *r = &call->reduce;
    bool in_place = stage->send.user == MPI_IN_PLACE;

    call->rank = ompi_comm_rank(native->module->comm);
    call->ranks = ompi_comm_size(native->module->comm);
    if (!gf_datatype_element(what->type, &r->type) || !gf_op_predefined(what->op, &r->op) || !gf_op_allowed(r->type, r->op)) {
        return "its type or operation is none of those that the device knows";
    }
    r->first = what->first;
    r->count = elements(&stage->recv.out);
    r->inputs = r->count ? count_inputs(call) : 0;
    r->what[0] = ((uint64_t)what->kind + 1) << 48 | (uint64_t)what->root << 32 | (uint64_t)r->type << 16 | (uint64_t)r->op;
    r->what[1] = what->count;
    if (!place(in_place ? stage->recv.user : stage->send.user, what->count * gf_type_size(r->type), &r->send) ||
        !place(stage->recv.user, r->count * gf_type_size(r->type), &r->recv)) {
        return "this rank's buffers are not in one allocation of device memory each";
    }
    if (r->recv.address && r->recv.where.ordinal != r->send.where.ordinal) {
        return "this rank's buffers are on two devices";
    }
    native->ordinal = r->send.where.ordinal;
    native->block = largest_message(call);
    return in_place && r->count > 0 && is_exposed(call) && !native->between_nodes ? make_room_aside(call) : NULL;
}

/* By which the last reduction goes, or went. */
static enum gf_path last_path(const gf_comm *comm)
{
    return gf_comm_last_reduce(comm)->algorithm == GF_PLAN_LOCAL ? GF_PATH_LOCAL : GF_PATH_REDUCE_MAPPED;
}

static gf_status run(struct gf_native_call *native, struct gf_reason *why)
{
    struct call *call = (struct call *)native;
    gf_comm *comm = native->module->device_comm;
    gf_status status = gf_comm_reduce(comm, &call->reduce, why);

    if (status == GF_OK) {
        gf_pvars_count(&mca_coll_gpufifo_component.pvars, last_path(comm), gf_native_bytes(native->stage));
    }
    return status;
}

static const char *prepare_scatter(const struct call *call)
{
    const gf_mpi_counts *results = call->what->results;
    size_t counts[GF_MAX_RANKS];

    for (int rank = 0; rank < call->ranks; rank++) {
        size_t count = results ? gf_mpi_count_at(*results, rank) : call->what->count / (size_t)call->ranks;

        counts[rank] = count * gf_type_size(call->reduce.type);
    }
    return gf_between_reduce_scatter_prepare(call->by_messages, call->native.module, counts);
}

static const char no_memory[] = "host memory is exhausted";

static const char *prepare_reduce(struct call *call)
{
    const struct gf_reduce *r = &call->reduce;
    bool in_place = call->native.stage->send.user == MPI_IN_PLACE;

    if (mca_coll_gpufifo_component.config.deterministic) {
        return "its ranks are on several nodes, and messages do not keep their order";
    }
    call->by_messages = calloc(1, sizeof *call->by_messages);
    if (!call->by_messages) {
        return no_memory;
    }
    *call->by_messages = (struct gf_between_reduce){.send = r->send, .recv = r->recv, .first = r->first * gf_type_size(r->type),
                                                    .overlaps = in_place && r->first > 0,
                                                    .reducer = {.type = r->type, .op = r->op}};
    return call->what->kind == GF_REDUCTION_SCATTER
               ? prepare_scatter(call)
               : gf_between_reduce_prepare(call->by_messages, call->native.module, call->what->root);
}

static const char *prepare_scan(struct call *call)
{
    const struct gf_reduce *r = &call->reduce;

    call->scan_by_messages = calloc(1, sizeof *call->scan_by_messages);
    if (!call->scan_by_messages) {
        return no_memory;
    }
    *call->scan_by_messages = (struct gf_between_scan){.send = r->send, .recv = r->recv,
                                                       .exclusive = call->what->kind == GF_REDUCTION_EXSCAN,
                                                       .reducer = {.type = r->type, .op = r->op}};
    return gf_between_scan_prepare(call->scan_by_messages, call->native.module);
}

/* What comes now is for the same by messages. */
static const char *prepare_between_nodes(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;

    return is_scan(call) ? prepare_scan(call) : prepare_reduce(call);
}

static int run_between_nodes(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_MESSAGES, gf_native_bytes(native->stage));
    return is_scan(call) ? gf_between_scan_run(call->scan_by_messages, native->module, native->function)
                         : gf_between_reduce_run(call->by_messages, native->module, native->function);
}

static void release_messages(struct call *call)
{
    gf_between_reduce_release(call->by_messages);
    gf_between_scan_release(call->scan_by_messages);
    free(call->by_messages);
    free(call->scan_by_messages);
}

bool gf_reduction_run(struct gf_stage_call *stage, const struct gf_reduction_call *what, const char *function,
                      mca_coll_base_module_t *module)
{
    struct call call = {.native = {.stage = stage, .module = (mca_coll_gpufifo_module_t *)module, .function = function,
                                   .describe = describe, .run = run, .run_between_nodes = run_between_nodes,
                                   .prepare_between_nodes = prepare_between_nodes},
                        .what = what, .reduce = {.name = function}};
    bool done = gf_native_call_run(&call.native);

    release_messages(&call);
    release_aside(&call.aside);
    return done;
}

struct reduction_flight {
    struct gf_flight flight;           /* first */
    struct gf_reduce reduce;
    struct aside aside;
};

static gf_status start_flight(gf_comm *comm, struct gf_flight *flight, struct gf_reason *why)
{
    struct gf_reduce *reduce = &((struct reduction_flight *)flight)->reduce;
    gf_status status = gf_flight_locate(flight, comm, &reduce->send, &reduce->recv, why);

    if (status == GF_OK) {
        status = gf_reduce_start(comm, reduce, &flight->call, why);
        flight->path = last_path(comm);
    }
    return status;
}

static void release_flight(struct gf_flight *flight)
{
    release_aside(&((struct reduction_flight *)flight)->aside);
}

/* The memory aside is the flight's from now on. */
static struct gf_flight *board(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;
    struct reduction_flight *mine = malloc(sizeof *mine);

    if (mine) {
        mine->flight = (struct gf_flight){.start = start_flight, .release = release_flight};
        mine->reduce = call->reduce;
        mine->aside = call->aside;
        call->aside.piece = NULL;
    }
    return (struct gf_flight *)mine;
}

bool gf_reduction_later(struct gf_stage_call *stage, const struct gf_reduction_call *what, const struct gf_saved_call *saved,
                        enum gf_native_later form, const char *function, ompi_request_t **request)
{
    struct call call = {.native = {.stage = stage, .module = saved->module, .function = function, .describe = describe,
                                   .board = board, .saved = saved, .request = request},
                        .what = what, .reduce = {.name = function}};
    bool gone = gf_native_call_later(&call.native, form);

    release_aside(&call.aside);
    return gone;
}
