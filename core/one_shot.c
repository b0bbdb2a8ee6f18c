/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the one-shot allreduce.
 */
#include "core/one_shot.h"

#include "kernels/reduce.h"

/* Do whole lines go from this rank to each of its peers? */
static gf_status check_lines(const struct gf_connect_setup *setup, struct gf_reason *why)
{
    const struct gf_peers *peers = setup->peers;
    struct gf_reason because = { "" };

    for (int q = 0; q < peers->ranks; q++) {
        if (q != peers->rank && gf_device_whole_lines(setup->device, peers->infos[q].device_uuid, &because) != GF_OK) {
            gf_reason_set(why, "from rank %d to rank %d: %s", peers->rank, q, because.text);
            return GF_ERR_UNSUPPORTED;
        }
    }
    return GF_OK;
}

gf_status gf_one_shot_connect(struct gf_one_shot *o, enum gf_algorithm algorithm, const struct gf_connect_setup *setup,
                              struct gf_reason *why)
{
    bool ll128 = algorithm == GF_PLAN_LL128;
    struct gf_connector_shape shape = { .ll_bytes = gf_plan_slot(setup->config, algorithm).bytes, .whole_lines = ll128 };
    struct gf_reason because = { "" };
    gf_status status = ll128 ? gf_bootstrap_agree(setup->bootstrap, check_lines(setup, &because), &because) : GF_OK;

    *o = (struct gf_one_shot){ .algorithm = algorithm, .epochs_left = GF_LL_EPOCH_LAST };
    if (status == GF_OK) {
        status = gf_pattern_connect(&o->pattern, GF_PATTERN_DIRECT, &shape, setup, &because);
    }
    if (ll128 && status == GF_ERR_UNSUPPORTED && setup->config->strict) {
        gf_reason_set(why, "strict: LL128 was asked for, but cannot be used: %s", because.text);
        return GF_ERR_DEVICE;
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%s", because.text);
    }
    return status;
}

/* Zeroes the lines that peers have written here, before epochs begin again at 1: an old line would pass for a new one. After
 * the first agreement no kernel of an earlier piece runs anywhere; after the second no slot holds an old line. */
static gf_status sweep(struct gf_one_shot *o, struct gf_execution *e, struct gf_reason *why)
{
    const struct gf_bootstrap *bootstrap = e->watch->bootstrap;
    gf_status status = gf_bootstrap_agree(bootstrap, GF_OK, why);

    if (status != GF_OK) {
        return status;
    }
    for (int q = 0; q < o->pattern.ranks && status == GF_OK; q++) {
        const struct gf_connector *c = &o->pattern.recv[q].connector;

        if (q != o->pattern.rank) {
            status = gf_device_fill(e->device, e->stream, c->endpoint.memory, 0, 2 * c->shape.ll_bytes);
        }
    }
    if (status == GF_OK) {
        status = gf_device_stream_sync(e->device, e->stream);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "rank %d could not clear its slots: %s", o->pattern.rank, gf_status_string(status));
    }
    o->epochs_left = GF_LL_EPOCH_LAST;
    return gf_bootstrap_agree(bootstrap, status, why);
}

/* The kernel's view: the slots of every peer for me, and mine for every peer. */
static void fill_slots(const struct gf_one_shot *o, struct gf_one_shot_work *work)
{
    for (int q = 0; q < o->pattern.ranks; q++) {
        if (q != o->pattern.rank) {
            work->peers[q] = (struct gf_peer_slots){
                .to = o->pattern.send[q].connector.endpoint.ll_slots, .from = o->pattern.recv[q].connector.endpoint.ll_slots,
            };
        }
    }
}

gf_status gf_one_shot_use_agent(struct gf_one_shot *o, gf_agent *agent, const struct gf_config *config,
                                const struct gf_execution *e, struct gf_reason *why)
{
    struct gf_one_shot_work work = { .slot_bytes = 2 * config->ll_slot_bytes };

    gf_execution_describe(e, &work.task);
    fill_slots(o, &work);
    gf_status status = gf_played_create(&o->played, e->device, e->stream, work.slot_bytes, o->pattern.ranks, why);

    if (status == GF_OK) {
        status = gf_agent_introduce(agent, e->stream, &work, &o->table, why);
    }
    o->agent = status == GF_OK ? agent : NULL;
    return status;
}

static uint32_t next_epoch(const struct gf_one_shot *o)
{
    return GF_LL_EPOCH_LAST - o->epochs_left + 1;
}

static gf_status play(struct gf_one_shot *o, const struct gf_plan *plan, const struct gf_one_shot_call *call,
                      struct gf_execution *e, struct gf_reason *why)
{
    const struct gf_host_wait wait = { .poll = gf_watch_poll, .ctx = e->watch };
    const struct gf_reduction *data = &call->data;
    const struct gf_played_call played = {
        .pattern = &o->pattern, .send = call->send, .recv = call->recv, .count = data->count,
        .type = (enum gf_type)data->type, .op = (enum gf_op)data->op, .epoch = next_epoch(o), .blocks = (uint32_t)plan->blocks,
        .deadline_ns = e->deadline_ns, .wait = &wait,
    };

    o->way = GF_ONE_SHOT_PLAYED;
    return gf_played_allreduce(&o->played, &played, why);
}

/* By the agent, or, where that does not come, by the host. */
static gf_status run_by_agent(struct gf_one_shot *o, const struct gf_plan *plan, const struct gf_one_shot_call *call,
                              struct gf_execution *e, struct gf_reason *why)
{
    const struct gf_reduction *data = &call->data;
    struct gf_command command = {
        .kind = GF_COMMAND_ALLREDUCE, .op = (uint8_t)data->op, .blocks = (uint8_t)plan->blocks, .send = data->send,
        .type = (uint8_t)gf_canonical_type((enum gf_type)data->type, (enum gf_op)data->op), .recv = data->recv,
        .bytes = (uint32_t)(data->count * gf_type_size((enum gf_type)data->type)), .epoch = next_epoch(o),
    };

    o->way = GF_ONE_SHOT_BY_AGENT;
    gf_status status = gf_execution_run_by_agent(e, o->agent, o->table, &command, why);

    if (status == GF_NO_RESOURCE) {
        status = play(o, plan, call, e, why);
    }
    o->epochs_left -= status == GF_OK;
    return status;
}

static void advance(struct gf_reduction *data, uint64_t elements, size_t element_bytes)
{
    data->send = (const char *)data->send + elements * element_bytes;
    data->recv = (char *)data->recv + elements * element_bytes;
    data->count -= elements;
}

static gf_status launch(const struct gf_one_shot *o, const struct gf_plan *plan, struct gf_one_shot_work *work,
                        struct gf_execution *e, struct gf_reason *why)
{
    bool few = o->pattern.ranks <= GF_FEW_RANKS, ll128 = o->algorithm == GF_PLAN_LL128;
    enum gf_kernel kernel = ll128 ? few ? GF_KERNEL_ALLREDUCE_LL128_FEW : GF_KERNEL_ALLREDUCE_LL128
                                  : few ? GF_KERNEL_ALLREDUCE_ONE_SHOT_FEW : GF_KERNEL_ALLREDUCE_ONE_SHOT;

    return gf_execution_run(e, kernel, plan->blocks, plan->threads, &work->task,
                            few ? sizeof(struct gf_one_shot_few_work) : sizeof *work, why);
}

/* One launch unless the epochs run out in between. */
static gf_status run_by_launches(struct gf_one_shot *o, const struct gf_plan *plan, const struct gf_one_shot_call *call,
                                 const struct gf_config *config, struct gf_execution *e, struct gf_reason *why)
{
    size_t element_bytes = gf_type_size((enum gf_type)call->data.type);
    struct gf_plan_slot slot = gf_plan_slot(config, o->algorithm);
    uint64_t piece = slot.data / element_bytes;
    struct gf_reduction rest = call->data;
    struct gf_one_shot_work work = { .slot_bytes = slot.bytes };

    o->way = GF_ONE_SHOT_LAUNCHED;
    fill_slots(o, &work);
    for (uint32_t left = plan->pieces; left > 0; ) {
        if (o->epochs_left == 0) {
            gf_status status = sweep(o, e, why);

            if (status != GF_OK) {
                return status;
            }
        }
        uint32_t pieces = left < o->epochs_left ? left : o->epochs_left;
        uint64_t elements = pieces == left ? rest.count : pieces * piece;

        work.data = rest;
        work.data.count = elements;
        work.epoch = next_epoch(o);
        work.pieces = pieces;
        gf_status status = launch(o, plan, &work, e, why);

        if (status != GF_OK) {
            return status;
        }
        o->epochs_left -= pieces;
        left -= pieces;
        advance(&rest, elements, element_bytes);
    }
    return GF_OK;
}

gf_status gf_one_shot_allreduce(struct gf_one_shot *o, const struct gf_plan *plan, const struct gf_one_shot_call *call,
                                const struct gf_config *config, struct gf_execution *e, struct gf_reason *why)
{
    if (plan->agent && o->agent && o->epochs_left > 0 && gf_agent_claim(o->agent)) {
        return run_by_agent(o, plan, call, e, why);
    }
    return run_by_launches(o, plan, call, config, e, why);
}

void gf_one_shot_destroy(struct gf_one_shot *o)
{
    if (o->agent) {
        gf_agent_forget(o->agent, o->table);
        o->agent = NULL;
    }
    gf_played_destroy(&o->played);
    gf_pattern_destroy(&o->pattern);
}
