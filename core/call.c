/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every call of a communicator does before and after its own part.
 */
#include <stdio.h>
#include <string.h>

#include "core/comm_private.h"
#include "core/tuner.h"

gf_status gf_comm_call_begin(gf_comm *comm, struct gf_reason *why)
{
    if (comm->broken != GF_OK) {
        gf_reason_set(why, "%s", comm->broken_why.text);
        return comm->broken;
    }
    return gf_abort_check(&comm->abort, why);
}

/* A rank without an agent launches. */
static gf_status connect_one_shot(gf_comm *comm, const struct gf_connect_setup *setup, struct gf_reason *why)
{
    struct gf_reason because = { "" };
    gf_status status = gf_one_shot_connect(&comm->one_shot, GF_PLAN_ONE_SHOT, setup, why);

    if (status != GF_OK || !comm->agent || !comm->peers.agents) {
        return status;
    }
    gf_agent_allow_blocks(comm->agent, comm->peers.agent_blocks);
    if (gf_one_shot_use_agent(&comm->one_shot, comm->agent, &comm->config, &comm->execution, &because) != GF_OK) {
        gf_log(comm->log, GF_LOG_WARN, "%s: rank %d goes without an agent: %s", comm->name, comm->peers.rank, because.text);
    }
    return GF_OK;
}

/* A ring that cannot go straight from buffer to buffer goes by its slots. */
static gf_status connect_ring(gf_comm *comm, const struct gf_connect_setup *setup, struct gf_reason *why)
{
    struct gf_reason because = { "the ranks are on several nodes" };
    int channels = comm->peers.blocks < GF_RING_CHANNELS ? comm->peers.blocks : GF_RING_CHANNELS;
    gf_status status = gf_ring_connect(&comm->ring, channels, setup, why);

    if (status != GF_OK || !gf_buffer_is_direct(comm->config.simple_buffer)) {
        return status;
    }
    status = comm->peers.nodes > 1 ? GF_ERR_UNSUPPORTED : gf_mapped_connect(&comm->mapped, setup, &comm->watch, &because);
    if (status == GF_ERR_UNSUPPORTED) {
        gf_log(comm->log, gf_comm_warning(comm), "%s: the ring goes by slots, not from buffer to buffer: %s", comm->name,
               because.text);
        return GF_OK;
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%s", because.text);
    }
    return status;
}

/* Collective. The connections of one algorithm. */
static gf_status connect_algorithm(gf_comm *comm, enum gf_algorithm algorithm, struct gf_reason *why)
{
    struct gf_connect_setup setup = {
        .config = &comm->config, .log = comm->log, .name = comm->name, .bootstrap = &comm->bootstrap, .peers = &comm->peers,
        .transports = comm->transports, .device = comm->device, .stream = comm->stream, .fault = &comm->fault,
        .imports = comm->imports, .proxy = comm->proxy, .net = comm->net, .abort = &comm->abort,
    };

    switch (algorithm) {
    case GF_PLAN_ONE_SHOT:
        return connect_one_shot(comm, &setup, why);
    case GF_PLAN_LL128:
        return gf_one_shot_connect(&comm->ll128, algorithm, &setup, why);
    case GF_PLAN_RING:
        return connect_ring(comm, &setup, why);
    case GF_PLAN_TWO_SHOT:
    case GF_PLAN_ONE_SHOT_MAPPED:
    case GF_PLAN_EXCHANGE:
    case GF_PLAN_EXCHANGE_COPY:
    case GF_PLAN_REDUCE_MAPPED:
        return gf_mapped_connect(&comm->mapped, &setup, &comm->watch, why);
    case GF_PLAN_HOST:
        return comm->host_executor->create(&comm->config, &comm->bootstrap, comm->device, comm->stream, &comm->host_state, why);
    default:
        return GF_OK;
    }
}

/* The links of the ring that lead to another node; these go by what setup.net is, the rest of this rank's as told. */
static void describe_crossings(const struct gf_peers *peers, char *text, size_t bytes)
{
    size_t length = strlen(text);

    for (int r = 0; peers->nodes > 1 && r < peers->ranks && length < bytes; r++) {
        int next = gf_peers_next(peers, r);

        if (!gf_peers_same_node(&peers->infos[r], &peers->infos[next])) {
            int more = snprintf(text + length, bytes - length, "%s%d to %d",
                                strstr(text, "nodes") ? ", " : "; between nodes by coll_gpufifo_net, from rank ", r, next);

            length += more > 0 ? (size_t)more : 0;
        }
    }
}

static void describe_direct(const gf_comm *comm, char *text, size_t bytes)
{
    enum gf_simple_buffer buffer = comm->config.simple_buffer;
    size_t length = strlen(text);

    if (gf_buffer_is_direct(buffer) && comm->mapped.device) {
        snprintf(text + length, bytes - length, "%s", buffer == GF_BUFFER_DIRECT_READ
                 ? ", and straight from its buffers" : ", results straight into the receiver's buffer");
    }
}

/* Once an algorithm: why it was chosen, and how the data travels. */
static void report_path(const gf_comm *comm, const struct gf_plan *plan)
{
    char peers[320] = "";

    if (plan->algorithm == GF_PLAN_ONE_SHOT) {
        gf_pattern_describe(&comm->one_shot.pattern, peers, sizeof peers);
    } else if (plan->algorithm == GF_PLAN_LL128) {
        gf_pattern_describe(&comm->ll128.pattern, peers, sizeof peers);
    } else if (plan->algorithm == GF_PLAN_RING) {
        gf_pattern_describe(&comm->ring.pattern, peers, sizeof peers);
        describe_direct(comm, peers, sizeof peers);
        describe_crossings(&comm->peers, peers, sizeof peers);
    }
    gf_log(comm->log, GF_LOG_PATH, "%s: %s%s%s%s", comm->name, plan->reason, peers[0] ? " (data goes " : "", peers,
           peers[0] ? ")" : "");
}

gf_status gf_comm_call_connect(gf_comm *comm, const struct gf_plan *plan, struct gf_reason *why)
{
    struct gf_reason because = { "" };
    unsigned bit = 1u << plan->algorithm;

    if (comm->connected & bit) {
        return GF_OK;
    }
    gf_status status = connect_algorithm(comm, plan->algorithm, &because);

    if (status == GF_OK) {
        comm->connected |= bit;
        report_path(comm, plan);
        return GF_OK;
    }
    gf_reason_set(why, "%s", because.text);
    if (status == GF_ERR_UNSUPPORTED) {
        comm->unavailable |= bit;
        bool maps = plan->algorithm == GF_PLAN_TWO_SHOT || plan->algorithm == GF_PLAN_ONE_SHOT_MAPPED;
        bool asked = !maps || comm->config.algorithm != GF_ALGORITHM_AUTO;

        gf_log(comm->log, asked ? gf_comm_warning(comm) : GF_LOG_PATH, "%s: %s cannot be used, taking the next path: %s",
               comm->name, gf_algorithm_name(plan->algorithm), because.text);
    }
    return status;
}

void gf_comm_call_break(gf_comm *comm, gf_status status, const struct gf_reason *why)
{
    bool same_for_peers = status == GF_ERR_PEER || status == GF_ERR_TIMEOUT;
    char text[sizeof ((struct gf_abort_page *)0)->text];

    if (comm->broken != GF_OK) {
        return;
    }
    comm->broken = status;
    comm->broken_why = *why;
    snprintf(text, sizeof text, "rank %d failed: %.220s", comm->peers.rank, why->text);
    gf_abort_raise(&comm->abort, same_for_peers ? status : GF_ERR_ABORTED, text);
}

gf_status gf_comm_call_end(gf_comm *comm, gf_status status, const struct gf_reason *why)
{
    if (status < GF_OK && status != GF_ERR_UNSUPPORTED) {
        gf_comm_call_break(comm, status, why);
    }
    return status;
}
