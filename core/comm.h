/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator's device side: peers, connections, plan and execution. Made on first use, by all ranks together.
 * Knows no MPI and no CUDA: it meets the device, the transports and the host executor as tables.
 */
#ifndef GF_CORE_COMM_H
#define GF_CORE_COMM_H

#include "base/log.h"
#include "base/types.h"
#include "core/agent.h"
#include "core/bootstrap.h"
#include "core/config.h"
#include "core/plan.h"
#include "device/device.h"

struct gf_transport;               /* core/connector.h */
struct gf_host_executor;           /* core/host_executor.h */
struct gf_imports;                 /* core/imports.h */
struct gf_net;                     /* transport/net.h */
struct gf_proxy;                   /* proxy/proxy.h */
typedef struct gf_comm gf_comm;

struct gf_comm_setup {
    const struct gf_config *config;             /* copied */
    const struct gf_log *log;                   /* lives as long as the communicator; may be null */
    const char *name;                           /* for messages; copied */
    struct gf_bootstrap bootstrap;              /* copied; ctx lives as long as the communicator */
    gf_device *device;                          /* lives as long as the communicator */
    const struct gf_transport *const *transports;      /* null-terminated, best first */
    const struct gf_host_executor *host_executor;      /* null: none */
    struct gf_imports *imports;                 /* of the device, lives as long as the communicator; null: none, and no memory of
                                                   peers is mapped */
    struct gf_proxy *proxy;                     /* of the device, lives as long as the communicator; null: none */
    struct gf_net *net;                         /* of the device, lives as long as the communicator; null: none, and only ranks
                                                   of one node have a path of ours */
    int net_adapters;                           /* of the net, by which its connections go in turn, below 256; 0: not known. Where
                                                   two ranks know, a connection goes by those that both have */
    gf_agent *agent;                            /* of this device, lives as long as the communicator; null: none */
    int device_ranks;                           /* processes of the job that may run our kernels on this device at once, in any
                                                   communicator, as far as known; 0: those of this communicator. Too high
                                                   costs blocks, too low risks that kernels of two communicators keep each
                                                   other from running. */
    int node;                                   /* this rank's among the nodes of the communicator as the caller numbers them from
                                                   0 on, below GF_MAX_RANKS: ranks with different numbers are not on one, though
                                                   they may have one kernel, as containers have. Equal: then core finds out */
};

/* Collective. All ranks return the same success or failure; *why tells this rank's or the failing rank's reason.
 * GF_ERR_UNSUPPORTED: these ranks have no path of ours (several nodes and no net, different settings, no shared memory):
 * stage. */
gf_status gf_comm_create(const struct gf_comm_setup *setup, gf_comm **comm, struct gf_reason *why);

/* Between calls: its ranks meet by this one from now on, of the same rank and number of ranks. Copied, as that of the setup. */
void gf_comm_meet_by(gf_comm *comm, const struct gf_bootstrap *bootstrap);

/* Collective: connects what calls over mapped buffers need, and waits for the others. GF_ERR_UNSUPPORTED on all ranks: there
 * will be none. Other errors as gf_comm_exchange. */
gf_status gf_comm_connect_mapped(gf_comm *comm, struct gf_reason *why);

/* Not collective: each rank may destroy at its own time once its calls have returned. Waits for its own kernels, and until the
 * next rank of a ring has taken what was sent to it in the last call. Null is allowed. */
void gf_comm_destroy(gf_comm *comm);

/* The buffers of one call, user addresses. */
struct gf_comm_buffers {
    const void *send;
    void *recv;
    bool direct;                     /* kernels reach both at these addresses, as gf_pointer.direct has told: saves asking
                                        again */
    const struct gf_pointer *send_where, *recv_where;    /* what gf_driver_pointer says of them; null: not asked yet */
};

/* One blocking allreduce. Collective; all ranks have entered or will. send may equal recv. Buffers are device memory
 * of the communicator's device (any offset into an allocation). count ≥ 0; send and recv may be null when it is 0.
 * Errors: GF_ERR_INVALID for a type/operation pair that is not allowed; GF_ERR_UNSUPPORTED (before anything moved, on all ranks
 * alike) where the caller must stage; GF_ERR_PEER when a peer died, GF_ERR_TIMEOUT, GF_ERR_ABORTED: the communicator is then
 * dead. */
gf_status gf_comm_allreduce(gf_comm *comm, const struct gf_comm_buffers *buffers, size_t count,
                            enum gf_type type, enum gf_op op, struct gf_reason *why);

/* One blocking exchange of blocks, as core/exchange.h describes it. Collective, with errors as above. */
struct gf_exchange;
gf_status gf_comm_exchange(gf_comm *comm, const struct gf_exchange *exchange, struct gf_reason *why);

/* The plan of the last exchange, as gf_comm_last_plan. */
const struct gf_plan *gf_comm_last_exchange(const gf_comm *comm);

/* One blocking reduction that is no allreduce, as core/reduction.h describes it, and its plan; likewise. */
struct gf_reduce;
gf_status gf_comm_reduce(gf_comm *comm, const struct gf_reduce *reduce, struct gf_reason *why);
const struct gf_plan *gf_comm_last_reduce(const gf_comm *comm);

/* One turn of a wait of the owner's for the other ranks, between calls: makes the owner's progress and looks whether they live.
 * GF_OK: go on waiting. GF_ERR_PEER: a process of the communicator has ended, all other ranks have been told, the communicator
 * is dead; or what a peer aborted with. One thread at a time. */
gf_status gf_comm_poll(gf_comm *comm, struct gf_reason *why);

/* The same without the owner's progress: for another thread, while the owner makes no calls. */
gf_status gf_comm_look(gf_comm *comm, struct gf_reason *why);

/* Have its ranks connected what calls over mapped buffers need (core/mapped_call.h)? The same on all ranks between two calls; the
 * first such call connects it, and waits for the others. */
bool gf_comm_maps(const gf_comm *comm);

/* The plan of the last call, for reports and tests; valid until the next call. */
const struct gf_plan *gf_comm_last_plan(const gf_comm *comm);

/* What became of the last call, if its plan was for one-shot over LL. */
enum gf_one_shot_way gf_comm_last_way(const gf_comm *comm);

/* Makes every spin of this communicator leave, here and at the peers that can be reached. Any thread, any number of times. */
void gf_comm_abort(gf_comm *comm, const char *reason);

#endif
