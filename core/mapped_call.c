/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of a call over mapped buffers.
 */
#include "core/mapped_call.h"

#include <string.h>

#include "core/comm_private.h"

void gf_mapped_call_start(gf_comm *comm, struct gf_mapped_call *call)
{
    const struct gf_registry_buffer none = gf_mapped_flags(&comm->mapped);
    /* To wait until it is worth while is to stage meanwhile. */
    bool patient = comm->config.mapped == GF_MAPPED_AUTO && !comm->config.strict;
    const struct gf_registry_buffer send = { call->send->address, call->send->bytes, &call->send->where, patient };
    const struct gf_registry_buffer buffers[GF_REGISTRY_BUFFERS] = {
        [GF_MAPPED_SEND] = call->send->address ? send : none, none, none,
    };
    struct gf_registry *registry = &comm->mapped.registry;

    call->cause = GF_OK;
    call->step = comm->peers.ranks == 1 ? GF_MAPPED_STARTING : GF_MAPPED_ENTERING;
    if (call->step == GF_MAPPED_ENTERING) {
        if (call->give) {
            memcpy(gf_registry_next_blocks(registry), call->give, (size_t)registry->ranks * sizeof *call->give);
        }
        gf_registry_start_enter(registry, buffers, call->what);
    }
}

static gf_status enter(gf_comm *comm, struct gf_mapped_call *call, struct gf_reason *why)
{
    bool asked = comm->config.mapped != GF_MAPPED_AUTO;
    gf_status status = gf_registry_poll_enter(&comm->mapped.registry, why);

    if (status == GF_NO_RESOURCE) {
        return GF_ERR_UNSUPPORTED;                /* the caller logs the reason */
    }
    if (status == GF_ERR_UNSUPPORTED) {
        gf_log(comm->log, comm->mapped.refused ? GF_LOG_CALL : asked ? gf_comm_warning(comm) : GF_LOG_PATH,
               "%s: %s cannot fetch from these buffers, taking the next path: %s", comm->name, call->name, why->text);
        comm->mapped.refused = true;
    }
    return status;
}

static gf_status leave(gf_comm *comm, struct gf_reason *why)
{
    return comm->peers.ranks == 1 ? GF_OK : gf_registry_poll_leave(&comm->mapped.registry, why);
}

/* This rank's part is done. */
static gf_status run(gf_comm *comm, struct gf_reason *why)
{
    gf_status status = gf_execution_poll(&comm->execution, why);

    if (status == GF_OK && comm->peers.ranks > 1) {
        gf_registry_start_leave(&comm->mapped.registry);
    }
    return status;
}

/* GF_OK: the step is done. */
static gf_status advance(gf_comm *comm, struct gf_mapped_call *call, struct gf_reason *why)
{
    switch (call->step) {
    case GF_MAPPED_ENTERING:
        return enter(comm, call, why);
    case GF_MAPPED_STARTING:
        return call->start(comm, call, why);
    case GF_MAPPED_RUNNING:
        return run(comm, why);
    case GF_MAPPED_LEAVING:
        return leave(comm, why);
    case GF_MAPPED_SETTLING:
        return call->settle ? call->settle(comm, call, why) : GF_OK;
    case GF_MAPPED_SETTLED:
        return gf_execution_poll(&comm->execution, why);
    default:
        return GF_OK;
    }
}

void gf_mapped_call_cancel(struct gf_mapped_call *call, gf_status cause, const struct gf_reason *why)
{
    if (call->cause == GF_OK) {
        call->cause = cause;
        call->because = *why;
    }
}

gf_status gf_mapped_call_poll(gf_comm *comm, struct gf_mapped_call *call, struct gf_reason *why)
{
    gf_status status = GF_OK;

    while (call->cause == GF_OK && status == GF_OK && call->step != GF_MAPPED_ENDED) {
        status = advance(comm, call, &call->because);
        if (status == GF_OK) {
            call->step++;
        } else if (status != GF_IN_PROGRESS) {
            call->cause = status;
        }
    }
    if (call->cause == GF_OK) {
        return status;
    }
    /* A kernel was told, and is only waited for, as copies are, so that nothing uses the buffers afterwards. */
    if (gf_execution_poll(&comm->execution, NULL) == GF_IN_PROGRESS) {
        return GF_IN_PROGRESS;
    }
    gf_reason_set(why, "%s", call->because.text);
    return gf_comm_call_end(comm, call->cause, &call->because);
}

gf_status gf_mapped_call_finish(gf_comm *comm, struct gf_mapped_call *call, struct gf_reason *why)
{
    struct gf_reason because = { "" };
    gf_status status;

    while ((status = gf_mapped_call_poll(comm, call, why)) == GF_IN_PROGRESS) {
        gf_status cause = gf_watch_poll(&comm->watch, &because);

        if (cause != GF_OK) {
            gf_mapped_call_cancel(call, cause, &because);
        }
    }
    return status;
}
