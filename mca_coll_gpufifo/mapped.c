/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a call's description to an exchange of blocks.
 */
#include "mca_coll_gpufifo/mapped.h"

#include "core/fault.h"
#include "mca_coll_gpufifo/between/exchange.h"
#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/mapped_blocks.h"

/* One call, as this rank sees it. */
struct call {
    struct gf_native_call native;      /* first */
    enum gf_exchange_kind kind;
    int root;
    struct gf_exchange *exchange;
    struct gf_mapped_packing packing;
    struct gf_between_aside aside;     /* of one by messages */
};

/* Where this rank moves nothing, any device will do. */
static const char *describe(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;
    struct gf_exchange *x = call->exchange;
    const char *reason = gf_mapped_blocks(native->stage, call->kind, call->root, native->module->comm, x, &call->packing);

    if (!reason) {
        native->block = native->between_nodes ? gf_between_block(x, native->module->comm) : 0;
        x->name = native->function;
        native->ordinal = x->recv.address ? x->recv.where.ordinal : x->send.address ? x->send.where.ordinal : -1;
    }
    return reason;
}

/* By which the last exchange goes, or went. */
static enum gf_path last_path(const gf_comm *comm)
{
    enum gf_algorithm algorithm = gf_comm_last_exchange(comm)->algorithm;

    return algorithm == GF_PLAN_EXCHANGE        ? GF_PATH_EXCHANGE
           : algorithm == GF_PLAN_EXCHANGE_COPY ? GF_PATH_EXCHANGE_COPY
                                                : GF_PATH_LOCAL;
}

static gf_status run(struct gf_native_call *native, struct gf_reason *why)
{
    struct call *call = (struct call *)native;
    gf_comm *comm = native->module->device_comm;
    gf_status status = gf_mapped_pack(&call->packing, why);

    if (status != GF_OK) {
        gf_comm_abort(comm, why->text);           /* the others are on their way into the exchange */
        return status;
    }
    status = gf_comm_exchange(comm, call->exchange, why);
    if (status == GF_OK) {
        gf_pvars_count(&mca_coll_gpufifo_component.pvars, last_path(comm), gf_native_bytes(native->stage));
        status = gf_mapped_unpack(&call->packing, why);
    }
    return status;
}

/* What comes now is for the same by messages. */
static const char *prepare_between_nodes(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;

    return gf_between_exchange_prepare(&call->aside, call->exchange);
}

static gf_status pack_between_nodes(struct call *call, struct gf_reason *why)
{
    bool fails = call->packing.pack.bytes > 0 &&
                 gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_BETWEEN_COPY, why);

    return fails ? GF_ERR_DEVICE : gf_mapped_pack(&call->packing, why);
}

/* Whose data cannot be packed takes part all the same: the others are on their way into it. */
static int run_between_nodes(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;
    struct gf_reason why = {""};
    gf_status status = pack_between_nodes(call, &why);
    int result = gf_error_to_mpi(status, &why, native->module->comm, native->function);

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_MESSAGES, gf_native_bytes(native->stage));
    result = gf_between_exchange(native->module, call->kind, call->root, native->function, call->exchange, &call->aside, result);
    if (result == MPI_SUCCESS) {
        status = gf_mapped_unpack(&call->packing, &why);
    }
    return result == MPI_SUCCESS ? gf_error_to_mpi(status, &why, native->module->comm, native->function) : result;
}

/* Host calls come here, too, and shall not pay for clearing the exchange: gf_mapped_blocks fills it. */
bool gf_mapped_run(struct gf_stage_call *stage, enum gf_exchange_kind kind, int root, const char *function,
                   mca_coll_base_module_t *base)
{
    struct gf_exchange exchange;
    struct call call = {.native = {.stage = stage, .module = (mca_coll_gpufifo_module_t *)base, .function = function,
                                   .describe = describe, .run = run, .run_between_nodes = run_between_nodes,
                                   .prepare_between_nodes = prepare_between_nodes},
                        .kind = kind, .root = root, .exchange = &exchange};

    bool done = gf_native_call_run(&call.native);

    gf_between_exchange_release(&call.aside);
    gf_mapped_pack_release(&call.packing);
    return done;
}

struct exchange_flight {
    struct gf_flight flight;           /* first */
    struct gf_exchange exchange;
    struct gf_mapped_packing packing;
};

static gf_status start_flight(gf_comm *comm, struct gf_flight *flight, struct gf_reason *why)
{
    struct exchange_flight *mine = (struct exchange_flight *)flight;
    gf_status status = gf_flight_locate(flight, comm, &mine->exchange.send, &mine->exchange.recv, why);

    status = status == GF_OK ? gf_mapped_pack_poll(&mine->packing, why) : status;
    if (status != GF_OK) {
        if (status != GF_IN_PROGRESS) {
            gf_comm_abort(comm, why->text);       /* the others are on their way into the exchange */
        }
        return status;
    }
    status = gf_exchange_start(comm, &mine->exchange, &flight->call, why);
    flight->path = last_path(comm);
    return status;
}

static gf_status finish_flight(struct gf_flight *flight, struct gf_reason *why)
{
    return gf_mapped_unpack_poll(&((struct exchange_flight *)flight)->packing, why);
}

static void release_flight(struct gf_flight *flight)
{
    gf_mapped_pack_release(&((struct exchange_flight *)flight)->packing);
}

/* The packing is the flight's from now on. */
static struct gf_flight *board(struct gf_native_call *native)
{
    struct call *call = (struct call *)native;
    struct exchange_flight *mine = malloc(sizeof *mine);

    if (mine) {
        mine->flight = (struct gf_flight){.start = start_flight, .release = release_flight};
        mine->flight.finish = call->packing.recv ? finish_flight : NULL;
        mine->exchange = *call->exchange;
        mine->packing = call->packing;
        call->packing = (struct gf_mapped_packing){0};
    }
    return (struct gf_flight *)mine;
}

bool gf_mapped_later(struct gf_stage_call *stage, enum gf_exchange_kind kind, const struct gf_saved_call *saved,
                     enum gf_native_later form, const char *function, ompi_request_t **request)
{
    struct gf_exchange exchange;
    struct call call = {.native = {.stage = stage, .module = saved->module, .function = function, .describe = describe,
                                   .board = board, .saved = saved, .request = request},
                        .kind = kind, .root = saved->root, .exchange = &exchange};

    bool gone = gf_native_call_later(&call.native, form);

    gf_mapped_pack_release(&call.packing);
    return gone;
}
