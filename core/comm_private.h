/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a communicator, for the files of core/ that make it and that run its calls.
 */
#ifndef GF_CORE_COMM_PRIVATE_H
#define GF_CORE_COMM_PRIVATE_H

#include "core/comm.h"
#include "core/host_executor.h"
#include "core/mapped.h"
#include "core/one_shot.h"
#include "core/ring.h"

/* Owner: whoever called gf_comm_create. One thread at a time, but for `abort`, which any thread may raise. */
struct gf_comm {
    /* Fixed by gf_comm_create. */
    char name[64];
    struct gf_config config;           /* sizes rounded to whole lines */
    const struct gf_log *log;
    struct gf_bootstrap bootstrap;
    gf_device *device;
    gf_stream *stream;
    const struct gf_transport *const *transports;
    const struct gf_host_executor *host_executor;
    struct gf_imports *imports;        /* null: none */
    struct gf_proxy *proxy;            /* null: none */
    struct gf_net *net;                /* null: none */
    gf_agent *agent;
    struct gf_peers peers;
    struct gf_abort abort;
    char *fault_text;

    /* In use by every call. */
    struct gf_fault fault;
    struct gf_watch watch;
    struct gf_execution execution;

    /* Made when first needed, by all ranks in the same call. */
    struct gf_one_shot one_shot, ll128;
    struct gf_ring ring;
    struct gf_mapped mapped;
    bool ring_direct;                  /* the ring of this call goes straight from buffer to buffer */
    void *host_state;
    unsigned connected, unavailable;   /* bit a: enum gf_algorithm a has its connections, or cannot have them; the same on all
                                          ranks */

    const struct gf_plan *plan;        /* of the last call: one of these two, of calls with all that is available, and of those */
    struct gf_plan plans[2];           /* whose buffers do not allow what would be best */
    struct gf_plan_input planned[2];   /* what each was made for; count 0: none yet */
    struct gf_plan exchange;           /* of the last exchange */
    struct gf_plan reduce;             /* of the last reduction that was no allreduce */
    gf_status broken;                  /* not GF_OK: dead since a call failed with this */
    struct gf_reason broken_why;
};

/* The level of a warning that all ranks have reason for: one of them is enough for a person, the others say it where paths
 * are asked for. */
static inline enum gf_log_level gf_comm_warning(const gf_comm *comm)
{
    return comm->bootstrap.rank == 0 ? GF_LOG_WARN : GF_LOG_PATH;
}

/* What every call does (core/call.c). begin: before anything else, GF_OK if the communicator lives. connect, collective: the
 * connections of a plan's algorithm, made when it is first chosen. GF_ERR_UNSUPPORTED: this communicator cannot have them, which
 * is in `unavailable` now: plan again. break: after a failure on this rank, a wrong buffer included, the peers may wait for it
 * for ever: tells them, and refuses further calls. */
gf_status gf_comm_call_begin(gf_comm *comm, struct gf_reason *why);
gf_status gf_comm_call_connect(gf_comm *comm, const struct gf_plan *plan, struct gf_reason *why);
void gf_comm_call_break(gf_comm *comm, gf_status status, const struct gf_reason *why);
/* Breaks after an error for which the caller cannot stage. Returns status. */
gf_status gf_comm_call_end(gf_comm *comm, gf_status status, const struct gf_reason *why);

#endif
