/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fault injection: makes a chosen step fail, so that tests walk every fall-back. Off unless config->fault asks for it.
 */
#ifndef GF_CORE_FAULT_H
#define GF_CORE_FAULT_H

#include <stdbool.h>

#include "base/status.h"

/* The steps that can be made to fail. */
enum gf_fault_step {
    GF_FAULT_SEGMENT,          /* segment: create shared memory */
    GF_FAULT_ATTACH,           /* attach: attach a peer's shared memory */
    GF_FAULT_REGISTER,         /* register: make shared memory reachable for kernels */
    GF_FAULT_DMABUF,           /* dmabuf: export device memory for an adapter as a dma-buf */
    GF_FAULT_DEVICE_ALLOC,     /* device_alloc: allocate a connection's device memory */
    GF_FAULT_IPC_EXPORT,       /* ipc_export */
    GF_FAULT_IPC_OPEN,         /* ipc_open */
    GF_FAULT_HOST_SEGMENT,     /* host_segment: create the shared memory of the host-sequenced executor */
    GF_FAULT_LAUNCH,           /* launch: start a kernel */
    GF_FAULT_PROXY,            /* proxy: give a connection's work to the proxy's thread */
    GF_FAULT_PROXY_COPY,       /* proxy_copy: a copy that the proxy starts */
    GF_FAULT_PROXY_STALL,      /* proxy_stall: not an error, the proxy does not start a copy in that turn; with "+" never again */
    GF_FAULT_PROXY_DEATH,      /* proxy_death: the process is killed where the proxy would start a copy */
    GF_FAULT_WIRE,             /* wire: put a message's data over a network, after which its lane is broken */
    GF_FAULT_STEP_COUNT
};

/* Owned by a communicator, each step used by one thread at a time. All zero: nothing fails. */
struct gf_fault {
    unsigned left[GF_FAULT_STEP_COUNT];    /* passes until the step fails, counting that one; 0: never */
    bool for_good[GF_FAULT_STEP_COUNT];    /* all later passes fail too */
};

/* text: "step:n", comma-separated: the n-th pass (from 1) of that step fails; "step:n+": and all after it; "step:n@rank",
 * "step:n+@rank": on that rank only. Null or empty: nothing. GF_ERR_INVALID with a sentence that lists the steps. */
gf_status gf_fault_parse(const char *text, int rank, struct gf_fault *fault, struct gf_reason *why);

/* Counts a pass of the step; true if this one is to fail, with *why then set. fault may be null. */
bool gf_fault_hits(struct gf_fault *fault, enum gf_fault_step step, struct gf_reason *why);

#endif
