/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One reduction over mapped buffers: its plan, and what each rank makes.
 */
#include "core/reduction.h"

#include "core/comm_private.h"
#include "core/mapped_allreduce.h"

static size_t bytes_of(const struct gf_reduce *r)
{
    return r->count * gf_type_size(r->type);
}

/* Plans until the plan can be carried out; the same on all ranks. */
static gf_status plan_and_connect(gf_comm *comm, const struct gf_reduce *r, struct gf_reason *why)
{
    const struct gf_peers *peers = &comm->peers;

    for (;;) {
        const struct gf_plan_input input = {
            .count = r->count, .type = r->type, .op = r->op, .ranks = peers->ranks, .blocks = peers->blocks,
            .kernels_may_wait = peers->kernels_may_wait, .unavailable = comm->unavailable,
            .device_has_type = peers->host_types || !gf_type_is_host_only(r->type),
        };

        gf_plan_reduce(&comm->config, &input, &comm->reduce);
        gf_status status = gf_comm_call_connect(comm, &comm->reduce, why);

        if (status != GF_ERR_UNSUPPORTED) {
            return status;
        }
    }
}

/* Where this rank's elements are made. */
static void *target(const struct gf_reduce *r)
{
    return r->aside ? r->aside : r->recv.address;
}

/* One rank: a copy. */
static gf_status copy(gf_comm *comm, const struct gf_reduce *r, struct gf_reason *why)
{
    const char *from = r->send.address + r->first * gf_type_size(r->type);

    return from == target(r) ? GF_OK : gf_execution_start_copy(&comm->execution, target(r), from, bytes_of(r), why);
}

/* The same place for kernels. Null: they cannot reach it. */
static void *kernel_target(const gf_comm *comm, const struct gf_reduce *r, struct gf_reason *why)
{
    void *user = target(r);
    void *to = !r->aside && r->recv.where.direct ? user : gf_device_kernel_address(comm->device, user);

    if (!to) {
        gf_reason_set(why, "kernels cannot reach the receive buffer at %p: pass memory of the device, allocated and not freed",
                      user);
    }
    return to;
}

/* All have entered. */
static gf_status make(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why)
{
    const struct gf_reduce *r = call->ctx;
    const struct gf_plan *plan = &comm->reduce;
    struct gf_reduction data = { .count = r->count, .type = r->type, .op = r->op };
    struct gf_local_work work;

    if (r->count == 0) {
        return GF_OK;
    }
    if (plan->algorithm == GF_PLAN_LOCAL) {
        return copy(comm, r, why);
    }
    data.recv = kernel_target(comm, r, why);
    if (!data.recv) {
        return GF_ERR_INVALID;
    }
    gf_mapped_fill_local(&comm->mapped, &data, r->first, r->inputs, &work);
    return gf_execution_start(&comm->execution, GF_KERNEL_REDUCE_LOCAL, plan->blocks, plan->threads, &work.task, sizeof work,
                              why);
}

/* All have left: nobody loads from where the result belongs any more. */
static gf_status move(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why)
{
    const struct gf_reduce *r = call->ctx;

    return gf_execution_start_copy(&comm->execution, r->recv.address, r->aside, bytes_of(r), why);
}

gf_status gf_reduce_start(gf_comm *comm, const struct gf_reduce *r, struct gf_mapped_call *call, struct gf_reason *why)
{
    gf_status status = gf_comm_call_begin(comm, why);

    if (status == GF_OK) {
        status = plan_and_connect(comm, r, why);
    }
    if (status != GF_OK) {
        return gf_comm_call_end(comm, status, why);
    }
    gf_log(comm->log, GF_LOG_CALL, "%s: %s, %zu %s to make by %s: %s", comm->name, r->name, r->count, gf_type_name(r->type),
           gf_op_name(r->op), comm->reduce.reason);
    if (comm->reduce.algorithm == GF_PLAN_STAGE) {
        gf_reason_set(why, "%s", comm->reduce.reason);
        return GF_ERR_UNSUPPORTED;
    }
    *call = (struct gf_mapped_call){ .name = r->name, .what = { r->what[0], r->what[1] }, .send = &r->send, .start = make,
                                     .settle = r->aside ? move : NULL, .ctx = r };
    gf_mapped_call_start(comm, call);
    return GF_OK;
}

gf_status gf_comm_reduce(gf_comm *comm, const struct gf_reduce *r, struct gf_reason *why)
{
    struct gf_reason local = { "" };
    struct gf_mapped_call call;
    gf_status status = gf_reduce_start(comm, r, &call, &local);

    if (status == GF_OK) {
        status = gf_mapped_call_finish(comm, &call, &local);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%s", local.text);
    }
    return status;
}

const struct gf_plan *gf_comm_last_reduce(const gf_comm *comm)
{
    return &comm->reduce;
}
