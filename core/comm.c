/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and ending a communicator. Every step that can fail on one rank alone is followed by an agreement, so that all ranks
 * go on or none.
 */
#include "core/comm_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_BYTES_MOST = 64 * 1024 * 1024 };

static gf_status check_slot(const char *setting, size_t *bytes, struct gf_reason *why)
{
    if (*bytes < GF_LINE || *bytes > SLOT_BYTES_MOST) {
        gf_reason_set(why, "the setting %s is %zu: give it %d to %d bytes", setting, *bytes, GF_LINE, SLOT_BYTES_MOST);
        return GF_ERR_INVALID;
    }
    *bytes = (*bytes + GF_LINE - 1) / GF_LINE * GF_LINE;
    return GF_OK;
}

static gf_status take_settings(gf_comm *comm, const struct gf_comm_setup *setup, struct gf_reason *why)
{
    gf_status status;

    comm->config = *setup->config;
    comm->config.fault = NULL;
    if (setup->config->fault) {
        comm->fault_text = strdup(setup->config->fault);
        comm->config.fault = comm->fault_text;
    }
    if (comm->config.channels < 0) {
        gf_reason_set(why, "the setting channels is %d: give it 0 (as many as the device has room for) or more",
                      comm->config.channels);
        return GF_ERR_INVALID;
    }
    status = check_slot("ll_slot_bytes", &comm->config.ll_slot_bytes, why);
    if (status == GF_OK) {
        status = check_slot("simple_slot_bytes", &comm->config.simple_slot_bytes, why);
    }
    return status == GF_OK ? gf_fault_parse(comm->config.fault, comm->bootstrap.rank, &comm->fault, why) : status;
}

/* What this rank needs before it meets the others; fills its own peer info. */
static gf_status prepare(gf_comm *comm, const struct gf_comm_setup *setup, struct gf_peer_info *mine, struct gf_reason *why)
{
    gf_status status = take_settings(comm, setup, why);

    if (status != GF_OK) {
        return status;
    }
    gf_peer_describe(comm->device, &comm->config, setup->device_ranks, mine);
    mine->net = setup->net != NULL;
    mine->net_adapters = (uint8_t)setup->net_adapters;
    mine->numbered_node = (uint8_t)setup->node;
    if (gf_fault_hits(&comm->fault, GF_FAULT_SEGMENT, why)) {
        return GF_ERR_NO_MEMORY;
    }
    status = gf_abort_open(&comm->abort, comm->bootstrap.rank, comm->bootstrap.ranks, &mine->probe, why);
    if (status == GF_OK) {
        status = gf_device_stream_create(comm->device, &comm->stream, why);
    }
    if (status == GF_OK) {
        status = gf_execution_create(&comm->execution, comm->device, comm->stream, &comm->watch, &comm->fault,
                                     comm->config.deadline_ms, why);
    }
    if (status == GF_OK) {
        comm->abort.kernel_word = gf_execution_abort_word(&comm->execution);
    }
    return status;
}

static gf_status meet_peers(gf_comm *comm, const struct gf_peer_info *mine, struct gf_reason *why)
{
    struct gf_peers *peers = &comm->peers;
    gf_status status;

    *peers = (struct gf_peers){ .rank = comm->bootstrap.rank, .ranks = comm->bootstrap.ranks };
    peers->infos = calloc((size_t)peers->ranks, sizeof *peers->infos);
    if (!peers->infos) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    gf_fault_pass(&comm->fault, GF_FAULT_MEET);
    status = comm->bootstrap.allgather(comm->bootstrap.ctx, mine, peers->infos, sizeof *mine);
    if (status != GF_OK) {
        gf_reason_set(why, "the ranks could not exchange messages: %s", gf_status_string(status));
        return status;
    }
    status = gf_peers_judge(peers, &comm->config, why);
    comm->config.agent_blocks = peers->agent_blocks;
    if (peers->nodes > 1) {
        comm->unavailable = ~(1u << GF_PLAN_RING);     /* no other has connections that cross */
    }
    return status;
}

/* Those of this node. Between nodes the transport carries an abort. */
static gf_status attach_pages(gf_comm *comm, struct gf_reason *why)
{
    for (int r = 0; r < comm->peers.ranks; r++) {
        if (r == comm->peers.rank || !gf_peers_are_near(&comm->peers, r)) {
            continue;
        }
        gf_status status = gf_fault_hits(&comm->fault, GF_FAULT_ATTACH, why) ? GF_ERR_UNSUPPORTED
            : gf_abort_attach(&comm->abort, r, &comm->peers.infos[r].probe, why);

        if (status != GF_OK) {
            return status;
        }
    }
    return GF_OK;
}

/* Runs a kernel that moves nothing: whether the binary has code for this device shows now, when all can still take another
 * path. */
static gf_status try_kernel(gf_comm *comm, struct gf_reason *why)
{
    struct gf_copy_work work = { .count = 0 };

    return gf_execution_run(&comm->execution, GF_KERNEL_COPY_LIST, 1, 32, &work.task, sizeof work, why);
}

/* Kernels that do not run leave the host-sequenced executor. */
static gf_status judge_kernels(gf_comm *comm, struct gf_reason *why)
{
    struct gf_reason kernel_why = { "" };
    gf_status status = gf_bootstrap_agree(&comm->bootstrap, try_kernel(comm, &kernel_why), &kernel_why);

    if (status == GF_OK) {
        return GF_OK;
    }
    if (comm->config.strict) {
        gf_reason_set(why, "strict: kernels do not run on this device: %s", kernel_why.text);
        return GF_ERR_DEVICE;
    }
    comm->unavailable |= 1u << GF_PLAN_ONE_SHOT | 1u << GF_PLAN_RING | 1u << GF_PLAN_TWO_SHOT | 1u << GF_PLAN_LL128
        | 1u << GF_PLAN_EXCHANGE | 1u << GF_PLAN_ONE_SHOT_MAPPED | 1u << GF_PLAN_REDUCE_MAPPED;
    gf_log(comm->log, gf_comm_warning(comm), "%s: kernels do not run on this device, the host reduces instead: %s", comm->name,
           kernel_why.text);
    return GF_OK;
}

/* Every failure but a wrong setting leaves staging, on all ranks alike. */
static gf_status agree(gf_comm *comm, gf_status status, struct gf_reason *why)
{
    if (status != GF_OK && status != GF_ERR_INVALID) {
        status = GF_ERR_UNSUPPORTED;
    }
    return gf_bootstrap_agree(&comm->bootstrap, status, why);
}

static gf_status bring_up(gf_comm *comm, const struct gf_comm_setup *setup, struct gf_reason *why)
{
    struct gf_peer_info mine = { .pid = 0 };
    gf_status status = agree(comm, prepare(comm, setup, &mine, why), why);

    if (status == GF_OK) {
        status = meet_peers(comm, &mine, why);
    }
    if (status == GF_OK) {
        status = agree(comm, attach_pages(comm, why), why);
    }
    return status == GF_OK ? judge_kernels(comm, why) : status;
}

static void report(const gf_comm *comm)
{
    const struct gf_peers *peers = &comm->peers;
    char where[80];

    if (peers->nodes > 1) {
        snprintf(where, sizeof where, "%d nodes", peers->nodes);
    } else {
        snprintf(where, sizeof where, "%s", peers->infos[peers->rank].host);
    }
    gf_log(comm->log, GF_LOG_PATH, "%s: %d ranks on %s, %s, %d blocks a rank", comm->name, peers->ranks, where, peers->sharing,
           peers->blocks);
}

gf_status gf_comm_create(const struct gf_comm_setup *setup, gf_comm **result, struct gf_reason *why)
{
    struct gf_reason local = { "" };
    gf_comm *comm = calloc(1, sizeof *comm);

    *result = NULL;
    if (!comm) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    snprintf(comm->name, sizeof comm->name, "%s", setup->name ? setup->name : "communicator");
    comm->log = setup->log;
    comm->plan = comm->plans;
    comm->bootstrap = setup->bootstrap;
    comm->device = setup->device;
    comm->transports = setup->transports;
    comm->host_executor = setup->host_executor;
    comm->imports = setup->imports;
    comm->proxy = setup->proxy;
    comm->net = setup->net;
    comm->agent = setup->agent;
    comm->unavailable = setup->host_executor ? 0 : 1u << GF_PLAN_HOST;
    comm->watch = (struct gf_watch){
        .abort = &comm->abort, .peers = &comm->peers, .bootstrap = &comm->bootstrap, .ring = &comm->ring,
    };
    gf_status status = bring_up(comm, setup, &local);

    if (status != GF_OK) {
        gf_reason_set(why, "%s", local.text);
        gf_comm_destroy(comm);
        return status;
    }
    report(comm);
    *result = comm;
    return GF_OK;
}

void gf_comm_meet_by(gf_comm *comm, const struct gf_bootstrap *bootstrap)
{
    comm->bootstrap = *bootstrap;
}

void gf_comm_destroy(gf_comm *comm)
{
    if (!comm) {
        return;
    }
    if (comm->broken == GF_OK) {
        gf_ring_drain(&comm->ring, &comm->execution);
    }
    if (comm->host_state) {
        comm->host_executor->destroy(comm->host_state);
    }
    gf_agent_dismiss(comm->agent);
    /* The stream goes first: it waits for whatever may still use the memory. */
    if (comm->stream) {
        gf_device_stream_sync(comm->device, comm->stream);
    }
    gf_ring_destroy(&comm->ring);
    gf_one_shot_destroy(&comm->one_shot);
    gf_mapped_destroy(&comm->mapped);
    gf_one_shot_destroy(&comm->ll128);
    comm->abort.kernel_word = NULL;
    gf_execution_destroy(&comm->execution);
    if (comm->stream) {
        gf_device_stream_destroy(comm->device, comm->stream);
    }
    gf_abort_close(&comm->abort);
    free(comm->peers.infos);
    free(comm->fault_text);
    free(comm);
}

/* status: of a turn of a wait. */
static gf_status note(gf_comm *comm, gf_status status, const struct gf_reason *because, struct gf_reason *why)
{
    if (comm->broken == GF_OK && status != GF_OK) {
        comm->broken = status;
        comm->broken_why = *because;
    }
    if (comm->broken != GF_OK) {
        gf_reason_set(why, "%s", comm->broken_why.text);
    }
    return comm->broken;
}

gf_status gf_comm_poll(gf_comm *comm, struct gf_reason *why)
{
    struct gf_reason because = { "" };

    return note(comm, comm->broken == GF_OK ? gf_watch_poll(&comm->watch, &because) : GF_OK, &because, why);
}

gf_status gf_comm_look(gf_comm *comm, struct gf_reason *why)
{
    struct gf_reason because = { "" };

    return note(comm, comm->broken == GF_OK ? gf_watch_look(&comm->watch, &because) : GF_OK, &because, why);
}

bool gf_comm_maps(const gf_comm *comm)
{
    return comm->mapped.device != NULL;
}

void gf_comm_abort(gf_comm *comm, const char *reason)
{
    char text[sizeof ((struct gf_abort_page *)0)->text];

    snprintf(text, sizeof text, "rank %d aborted the communicator: %s", comm->bootstrap.rank,
             reason ? reason : "no reason given");
    gf_abort_raise(&comm->abort, GF_ERR_ABORTED, text);
}

const struct gf_plan *gf_comm_last_plan(const gf_comm *comm)
{
    return comm->plan;
}

enum gf_one_shot_way gf_comm_last_way(const gf_comm *comm)
{
    return comm->plan->algorithm == GF_PLAN_ONE_SHOT ? comm->one_shot.way : GF_ONE_SHOT_LAUNCHED;
}
