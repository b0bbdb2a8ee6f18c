/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Allreduce: host buffers straight to the saved component; device buffers by our kernels where every rank has them, else
 * staged.
 */
#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/between/allreduce.h"
#include "mca_coll_gpufifo/coll/coll.h"
#include "mca_coll_gpufifo/datatype.h"
#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/native.h"
#include "mca_coll_gpufifo/op.h"

static const char function_name[] = "MPI_Allreduce";

/* One call as the program made it, and what became of it. */
struct call {
    const void *sbuf;                /* as the program passed it */
    const void *send;                /* the receive buffer when in place */
    void *recv;
    size_t count;
    ompi_datatype_t *datatype;
    ompi_op_t *op_handle;
    enum gf_type type;
    enum gf_op op;
    struct gf_pointer from, to;      /* where the buffers live */
    mca_coll_gpufifo_module_t *module;
    struct gf_between_allreduce *messages;   /* over several nodes, by these; null: not so */
};

/* Why a buffer cannot be right: freed, longer than its allocation, or none at all where a predefined operation needs one. */
static bool is_wrong(const struct call *call, const char *role, const void *buffer, const struct gf_pointer *where,
                     struct gf_reason *why)
{
    struct gf_pointer ignored;
    enum gf_type type;
    enum gf_op op;

    if (where->kind == GF_MEMORY_INVALID) {
        return gf_memory_query(buffer, &ignored, why) != GF_OK;
    }
    if (buffer == NULL && gf_op_predefined(call->op_handle, &op)) {
        gf_reason_set(why, "the %s buffer is null although there are %zu elements: pass a buffer", role, call->count);
        return true;
    }
    return where->kind == GF_MEMORY_DEVICE && gf_datatype_element(call->datatype, &type) &&
           !gf_memory_holds(where, buffer, call->count * gf_type_size(type), why);
}

static int check_buffers(struct call *call)
{
    struct gf_reason why;

    gf_reason_clear(&why);
    if (is_wrong(call, "receive", call->recv, &call->to, &why) || is_wrong(call, "send", call->send, &call->from, &why)) {
        return gf_error_to_mpi(GF_ERR_INVALID, &why, call->module->comm, function_name);
    }
    return MPI_SUCCESS;
}

static struct gf_mapped_buffer buffer_of(const struct call *call, const void *address, const struct gf_pointer *where)
{
    return (struct gf_mapped_buffer){(char *)address, call->count * gf_type_size(call->type), *where};
}

/* Over several nodes, where the net's ring is not taken. Null: by messages. */
static const char *reason_against_messages(struct call *call)
{
    const struct gf_config *config = &mca_coll_gpufifo_component.config;

    if (config->between_nodes == GF_BETWEEN_OFF || !mca_coll_gpufifo_component.pt2pt.installed) {
        return config->net == GF_NET_OFF ? "its ranks are on several nodes"
                                         : "over several nodes it is shorter than coll_gpufifo_net_bytes";
    }
    if (config->strict) {
        return "its ranks are on several nodes, where messages may go through host memory";
    }
    if (config->deterministic) {
        return "its ranks are on several nodes, and messages do not keep their order";
    }
    size_t share = call->count / (size_t)ompi_comm_size(call->module->comm) * gf_type_size(call->type);

    if (config->between_nodes == GF_BETWEEN_AUTO && share < config->between_bytes) {
        return "its ranks are on several nodes, and a rank's share of it is shorter than coll_gpufifo_between_bytes";
    }
    call->messages = calloc(1, sizeof *call->messages);
    if (!call->messages) {
        return "host memory is exhausted";
    }
    *call->messages = (struct gf_between_allreduce){
        .send = buffer_of(call, call->send, &call->from), .recv = buffer_of(call, call->recv, &call->to), .count = call->count,
        .reducer = {.type = call->type, .op = call->op}};
    return gf_between_allreduce_prepare(call->messages, call->module);
}

/* Why this rank's part cannot be done natively, or null. What it says no to counts as host buffers (agree.h). */
static const char *reason_against(struct call *call)
{
    static const char not_here[] = "this rank's buffers, type or operation are not for the device alone";
    const mca_coll_gpufifo_module_t *module = call->module;
    const struct gf_config *config = &mca_coll_gpufifo_component.config;

    if (OMPI_COMM_IS_INTER(module->comm) || call->to.kind != GF_MEMORY_DEVICE || call->from.kind != GF_MEMORY_DEVICE ||
        call->to.ordinal != call->from.ordinal) {
        return not_here;
    }
    if (gf_module_has_other_device(module, call->to.ordinal)) {
        return not_here;
    }
    if (!gf_datatype_element(call->datatype, &call->type) || !gf_op_predefined(call->op_handle, &call->op) ||
        !gf_op_allowed(call->type, call->op)) {
        return not_here;
    }
    if (gf_agree_spans_nodes(call->module) &&
        (config->net == GF_NET_OFF || call->count * gf_type_size(call->type) < config->net_bytes)) {
        return reason_against_messages(call);
    }
    return NULL;
}

static void count_path(const struct call *call)
{
    static const enum gf_path paths[] = {
        [GF_PLAN_NONE] = GF_PATH_LOCAL, [GF_PLAN_LOCAL] = GF_PATH_LOCAL, [GF_PLAN_ONE_SHOT] = GF_PATH_ONE_SHOT,
        [GF_PLAN_RING] = GF_PATH_RING, [GF_PLAN_HOST] = GF_PATH_HOST_SEQUENCED, [GF_PLAN_TWO_SHOT] = GF_PATH_TWO_SHOT,
        [GF_PLAN_STAGE] = GF_PATH_STAGED, [GF_PLAN_LL128] = GF_PATH_ONE_SHOT,
        [GF_PLAN_ONE_SHOT_MAPPED] = GF_PATH_ONE_SHOT_MAPPED,
    };
    const struct gf_plan *plan = gf_comm_last_plan(call->module->device_comm);

    enum gf_one_shot_way way = gf_comm_last_way(call->module->device_comm);
    enum gf_path path = way == GF_ONE_SHOT_BY_AGENT ? GF_PATH_AGENT : way == GF_ONE_SHOT_PLAYED ? GF_PATH_PLAYED
                                                                                                 : paths[plan->algorithm];

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, path, call->count * gf_type_size(call->type));
}

static int stage_silently(const struct call *call)
{
    return gf_stage_allreduce(call->sbuf, call->recv, (gf_mpi_count)call->count, call->datatype, call->op_handle,
                              call->module->comm, &call->module->super);
}

static int stage(const struct call *call, const char *reason)
{
    int error = gf_native_refuse(call->module, function_name, call->count, "elements", reason);

    return error == MPI_SUCCESS ? stage_silently(call) : error;
}

/* All ranks have device buffers. */
static int run_natively(struct call *call)
{
    const struct gf_comm_buffers buffers = {.send = call->send, .recv = call->recv,
        .direct = call->from.direct && call->to.direct, .send_where = &call->from, .recv_where = &call->to};
    mca_coll_gpufifo_module_t *module = call->module;
    struct gf_reason why;
    gf_status status;

    gf_reason_clear(&why);
    status = gf_native_comm(module, call->to.ordinal, &why);
    if (status == GF_OK) {
        status = gf_comm_allreduce(module->device_comm, &buffers, call->count, call->type, call->op, &why);
    }
    if (status == GF_ERR_UNSUPPORTED) {
        return stage(call, why.text);
    }
    if (status != GF_OK) {
        return gf_error_to_mpi(status, &why, module->comm, function_name);
    }
    count_path(call);
    return MPI_SUCCESS;
}

static int run_between_nodes(struct call *call)
{
    size_t bytes = call->count * gf_type_size(call->type);

    gf_native_tell_messages(call->module, function_name, bytes);
    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_MESSAGES, bytes);
    return gf_between_allreduce_run(call->messages, call->module, function_name);
}

/* A buffer of this rank is device memory, or none at all. */
static int with_unusual_buffers(struct call *call)
{
    int error = check_buffers(call);
    const char *reason;
    gf_status status = GF_OK;
    struct gf_reason why;

    gf_reason_clear(&why);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (call->to.kind != GF_MEMORY_DEVICE && call->from.kind != GF_MEMORY_DEVICE) {
        gf_agree_enter_host(call->module);
        return stage_silently(call);          /* a derived type at MPI_BOTTOM, with an operation of the program's own */
    }
    reason = reason_against(call);
    if (reason) {
        gf_agree_enter_host(call->module);
        return stage(call, reason);
    }
    switch (gf_agree_enter_device(call->module, &status, &why)) {
    case GF_AGREE_NATIVE:
        return call->messages ? run_between_nodes(call) : run_natively(call);
    case GF_AGREE_UNKNOWN:
        return gf_error_to_mpi(status, &why, call->module->comm, function_name);
    default:
        return stage(call, call->module->never_native ? "this communicator cannot use the device"
                                                      : "another rank has host buffers");
    }
}

/* A buffer is not known to be host memory, at least not yet. Apart, so that the function below needs no frame. */
static int __attribute__((noinline)) look_closer(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *dtype,
                                                 ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    struct call call = {.sbuf = sbuf, .send = sbuf == MPI_IN_PLACE ? rbuf : sbuf, .recv = rbuf, .count = (size_t)count,
                        .datatype = dtype, .op_handle = op, .module = (mca_coll_gpufifo_module_t *)base};
    bool device = gf_memory_locate(call.recv, &call.to);
    (void)comm;

    call.from = call.to;
    if (call.send != call.recv) {
        device |= gf_memory_locate(call.send, &call.from);
    }
    if (count == 0) {
        return MPI_SUCCESS;                   /* not counted: it is 0 on all ranks */
    }
    if (device || call.send == NULL || call.recv == NULL) {
        int result = with_unusual_buffers(&call);

        gf_between_allreduce_release(call.messages);
        free(call.messages);
        return result;
    }
    gf_agree_enter_host(call.module);
    return stage_silently(&call);
}

int gf_coll_allreduce(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *dtype, ompi_op_t *op,
                      ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_gpufifo_module_t *module = (mca_coll_gpufifo_module_t *)base;
    const void *send = sbuf == MPI_IN_PLACE ? rbuf : sbuf;

    if (__builtin_expect(gf_memory_is_known_host(send) && gf_memory_is_known_host(rbuf) && count > 0, 1)) {
        gf_agree_enter_host(module);
        return module->saved.coll_allreduce(sbuf, rbuf, count, dtype, op, comm, module->saved.coll_allreduce_module);
    }
    return look_closer(sbuf, rbuf, count, dtype, op, comm, base);
}
