/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One allreduce: plan, connect if this is the first of its kind, run, and if it fails make sure that nobody waits for us.
 */
#include "core/comm_private.h"
#include "core/mapped_allreduce.h"

/* What the choice depends on; equal on all ranks. refused: like comm->unavailable, for this call alone. */
static struct gf_plan_input plan_input(const gf_comm *comm, size_t count, enum gf_type type, enum gf_op op, unsigned refused)
{
    return (struct gf_plan_input){
        .count = count, .type = type, .op = op, .ranks = comm->peers.ranks, .nodes = comm->peers.nodes,
        .blocks = comm->peers.blocks, .agents = comm->peers.agents, .kernels_may_wait = comm->peers.kernels_may_wait,
        .shared = comm->peers.shared,
        .device_has_type = comm->peers.host_types || !gf_type_is_host_only(type),
        .unavailable = comm->unavailable | refused,
    };
}

/* Is this what the last plan was made for? Programs repeat their calls, and to word a plan takes longer than to decide it.
 * Only what may change in a communicator's life is compared. */
static bool is_planned(const struct gf_plan_input *last, const struct gf_plan_input *input)
{
    return input->count == last->count && input->type == last->type && input->op == last->op
        && input->unavailable == last->unavailable
        && input->count > 0;
}

static bool is_valid(size_t count, enum gf_type type, enum gf_op op)
{
    return gf_type_size(type) > 0 && gf_op_allowed(type, op) && count <= SIZE_MAX / 2 / gf_type_size(type);
}

/* Plans until a plan's connections exist. All ranks get the same plan, since a connection fails on all or on none. */
static gf_status plan_and_connect(gf_comm *comm, size_t count, enum gf_type type, enum gf_op op, unsigned refused,
                                  struct gf_reason *why)
{
    for (;;) {
        struct gf_plan_input input = plan_input(comm, count, type, op, refused);

        int which = refused != 0;

        if (!is_planned(&comm->planned[which], &input)) {
            gf_plan_allreduce(&comm->config, &input, &comm->plans[which]);
            comm->planned[which] = input;
        }
        comm->plan = &comm->plans[which];
        gf_status status = gf_comm_call_connect(comm, comm->plan, why);

        if (status != GF_ERR_UNSUPPORTED) {
            return status;
        }
    }
}

static gf_status run_kernel(gf_comm *comm, const struct gf_comm_buffers *buffers, size_t count, enum gf_type type, enum gf_op op,
                            struct gf_reason *why)
{
    struct gf_reduction data = {.send = buffers->send, .recv = buffers->recv, .count = count, .type = type, .op = op};

    if (!buffers->direct) {
        data.send = gf_device_kernel_address(comm->device, buffers->send);
        data.recv = gf_device_kernel_address(comm->device, buffers->recv);
    }
    if (!data.send || !data.recv) {
        gf_reason_set(why, "kernels cannot reach the %s buffer at %p: pass memory of the device, allocated and not freed",
                      data.send ? "receive" : "send", data.send ? buffers->recv : buffers->send);
        return GF_ERR_INVALID;
    }
    if (comm->plan->algorithm == GF_PLAN_TWO_SHOT) {
        return gf_mapped_two_shot(&comm->mapped, comm->plan, &data, &comm->execution, why);
    }
    if (comm->plan->algorithm == GF_PLAN_ONE_SHOT_MAPPED) {
        return gf_mapped_one_shot(&comm->mapped, comm->plan, &data, &comm->execution, why);
    }
    const struct gf_one_shot_call call = { .data = data, .send = buffers->send, .recv = buffers->recv };

    if (comm->plan->algorithm == GF_PLAN_ONE_SHOT) {
        return gf_one_shot_allreduce(&comm->one_shot, comm->plan, &call, &comm->config, &comm->execution, why);
    }
    if (comm->plan->algorithm == GF_PLAN_LL128) {
        return gf_one_shot_allreduce(&comm->ll128, comm->plan, &call, &comm->config, &comm->execution, why);
    }
    const struct gf_ring_call ring_call = { .data = data, .recv = buffers->recv, .recv_where = buffers->recv_where,
                                            .mapped = comm->ring_direct ? &comm->mapped : NULL };

    return gf_ring_allreduce(&comm->ring, comm->plan, &ring_call, &comm->execution, why);
}

static gf_status check_buffers(const struct gf_comm_buffers *buffers, size_t count, struct gf_reason *why)
{
    if (count > 0 && (!buffers->send || !buffers->recv)) {
        gf_reason_set(why, "the %s buffer of %zu elements is null", buffers->send ? "receive" : "send", count);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}

static gf_status run_plan(gf_comm *comm, const struct gf_comm_buffers *buffers, size_t count, enum gf_type type, enum gf_op op,
                          struct gf_reason *why)
{
    const void *send = buffers->send;
    void *recv = buffers->recv;
    const struct gf_host_wait wait = { .poll = gf_watch_poll, .ctx = &comm->watch };

    switch (comm->plan->algorithm) {
    case GF_PLAN_NONE:
        return GF_OK;
    case GF_PLAN_LOCAL:
        return send == recv ? GF_OK : gf_execution_copy(&comm->execution, recv, send, count * gf_type_size(type), why);
    case GF_PLAN_ONE_SHOT:
    case GF_PLAN_LL128:
    case GF_PLAN_RING:
    case GF_PLAN_TWO_SHOT:
    case GF_PLAN_ONE_SHOT_MAPPED:
        return run_kernel(comm, buffers, count, type, op, why);
    case GF_PLAN_HOST:
        return comm->host_executor->allreduce(comm->host_state, send, recv, count, type, op, &wait, why);
    case GF_PLAN_STAGE:
    default:
        gf_reason_set(why, "%s", comm->plan->reason);
        return GF_ERR_UNSUPPORTED;
    }
}

static bool needs_mapping(const struct gf_plan *plan)
{
    return plan->algorithm == GF_PLAN_TWO_SHOT || plan->algorithm == GF_PLAN_ONE_SHOT_MAPPED;
}

/* These need buffers that all ranks have mapped. Where not all can, or it is not worth that yet, the call is planned again, on
 * all ranks alike, as if there were no such algorithm. Nothing is amiss where it was not asked for. */
static gf_status map_buffers(gf_comm *comm, const struct gf_comm_buffers *buffers, size_t count, enum gf_type type, enum gf_op op,
                             struct gf_reason *why)
{
    bool asked = comm->config.algorithm != GF_ALGORITHM_AUTO;
    const struct gf_mapped_buffers mine = { buffers->send, buffers->recv, buffers->send_where, buffers->recv_where, !asked };
    struct gf_mapped *mapped = &comm->mapped;
    gf_status status = gf_mapped_enter(mapped, &mine, count, type, op, why);
    bool again = status == GF_NO_RESOURCE || mapped->refused;

    if (status == GF_OK && comm->plan->algorithm == GF_PLAN_ONE_SHOT_MAPPED && gf_mapped_in_place(mapped)) {
        return plan_and_connect(comm, count, type, op, 1u << GF_PLAN_ONE_SHOT_MAPPED, why);
    }
    if (status != GF_ERR_UNSUPPORTED && status != GF_NO_RESOURCE) {
        return status;
    }
    gf_log(comm->log, again ? GF_LOG_CALL : asked ? gf_comm_warning(comm) : GF_LOG_PATH,
           "%s: %s cannot be used for these buffers, taking the next path: %s", comm->name,
           gf_algorithm_name(comm->plan->algorithm), why->text);
    mapped->refused |= status == GF_ERR_UNSUPPORTED;
    return plan_and_connect(comm, count, type, op, 1u << comm->plan->algorithm, why);
}

/* Of a ring that shall go straight from buffer to buffer. Where not all ranks can map these, it goes by slots. */
static gf_status map_for_ring(gf_comm *comm, const struct gf_comm_buffers *buffers, size_t count, enum gf_type type,
                              enum gf_op op, struct gf_reason *why)
{
    const struct gf_mapped_buffers mine = { buffers->send, buffers->recv, buffers->send_where, buffers->recv_where, false };
    struct gf_mapped *mapped = &comm->mapped;
    struct gf_reason because = { "the ranks cannot map each other's buffers" };
    gf_status status = mapped->device ? gf_mapped_enter(mapped, &mine, count, type, op, &because) : GF_ERR_UNSUPPORTED;

    comm->ring_direct = status == GF_OK;
    if (status == GF_OK) {
        return GF_OK;
    }
    if (status != GF_ERR_UNSUPPORTED || comm->config.strict) {
        gf_reason_set(why, "%s%.200s", status == GF_ERR_UNSUPPORTED ? "strict: the ring cannot go from buffer to buffer: " : "",
                      because.text);
        return status;
    }
    gf_log(comm->log, mapped->refused || !mapped->device ? GF_LOG_CALL : gf_comm_warning(comm),
           "%s: the ring goes by slots, not from buffer to buffer: %s", comm->name, because.text);
    mapped->refused |= mapped->device != NULL;
    return GF_OK;
}

gf_status gf_comm_allreduce(gf_comm *comm, const struct gf_comm_buffers *buffers, size_t count, enum gf_type type, enum gf_op op,
                            struct gf_reason *why)
{
    struct gf_reason local;

    gf_reason_clear(&local);
    if (!is_valid(count, type, op)) {
        gf_reason_set(why, "%s of %zu elements of %s is not a legal reduction", gf_op_name(op), count, gf_type_name(type));
        return GF_ERR_INVALID;
    }
    gf_status status = gf_comm_call_begin(comm, &local);

    if (status == GF_OK) {
        status = plan_and_connect(comm, count, type, op, 0, &local);
    }
    if (status == GF_OK) {
        status = check_buffers(buffers, count, &local);
    }
    if (status == GF_OK && needs_mapping(comm->plan)) {
        status = map_buffers(comm, buffers, count, type, op, &local);
    }
    if (status == GF_OK && comm->plan->algorithm == GF_PLAN_RING && gf_buffer_is_direct(comm->config.simple_buffer)) {
        status = map_for_ring(comm, buffers, count, type, op, &local);
    }
    if (status == GF_OK) {
        gf_log(comm->log, GF_LOG_CALL, "%s: allreduce of %zu %s, %s: %s", comm->name, count, gf_type_name(type),
               gf_op_name(op), comm->plan->reason);
        status = run_plan(comm, buffers, count, type, op, &local);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%s", local.text);
        if (status != GF_ERR_UNSUPPORTED) {
            gf_comm_call_break(comm, status, &local);
            gf_ring_give_up(&comm->ring);
        }
    }
    return status;
}
