/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fault injection: makes a chosen step fail, so that tests walk every fall-back, or kills the process there. Off unless
 * config->fault asks for it.
 */
#ifndef GF_CORE_FAULT_H
#define GF_CORE_FAULT_H

#include <stdbool.h>

#include "base/status.h"

/* The steps that can be made to fail, and stages, at which a process can only be killed. */
enum gf_fault_step {
    GF_FAULT_SEGMENT,          /* segment: create shared memory */
    GF_FAULT_ATTACH,           /* attach: attach a peer's shared memory */
    GF_FAULT_REGISTER,         /* register: make shared memory reachable for kernels */
    GF_FAULT_DMABUF,           /* dmabuf: export device memory for an adapter as a dma-buf */
    GF_FAULT_DEVICE_ALLOC,     /* device_alloc: allocate a connection's device memory, or that of a call between nodes */
    GF_FAULT_IPC_EXPORT,       /* ipc_export */
    GF_FAULT_IPC_OPEN,         /* ipc_open */
    GF_FAULT_HOST_SEGMENT,     /* host_segment: create the shared memory of the host-sequenced executor */
    GF_FAULT_LAUNCH,           /* launch: start a kernel */
    GF_FAULT_PROXY,            /* proxy: give a connection's work to the proxy's thread */
    GF_FAULT_PROXY_COPY,       /* proxy_copy: a copy that the proxy starts */
    GF_FAULT_PROXY_STALL,      /* proxy_stall: not an error, the proxy does not start a copy in that turn; with "+" never again */
    GF_FAULT_WIRE,             /* wire: put a message's data over a network, after which its lane is broken */
    GF_FAULT_BETWEEN_COPY,     /* between_copy: a copy on the device, or a packing, of a blocking call between nodes */
    GF_FAULT_BETWEEN_MESSAGE,  /* between_message: begin a message of such a call, where its data belong */
    GF_FAULT_STAGES,
    GF_FAULT_AGREE = GF_FAULT_STAGES,  /* agree: tell the other ranks of a call with device buffers */
    GF_FAULT_MEET,             /* meet: exchange what ranks tell about themselves */
    GF_FAULT_AGENT,            /* agent: launch the agent */
    GF_FAULT_FLIGHT,           /* flight: begin the part of a non-blocking collective that all ranks have entered */
    GF_FAULT_OFFERED,          /* offered: look whether a message that was offered has been fetched */
    GF_FAULT_FETCH,            /* fetch: look whether a message that is being fetched has come */
    GF_FAULT_STEP_COUNT
};

/* Owned by a communicator or, of what belongs to none, by the process. Written by gf_fault_parse; passes are counted by any
 * thread. All zero: nothing fails. */
struct gf_fault {
    unsigned left[GF_FAULT_STEP_COUNT];    /* passes until the step fails, counting that one; 0: never */
    bool for_good[GF_FAULT_STEP_COUNT];    /* all later passes fail too */
    bool kills[GF_FAULT_STEP_COUNT];       /* instead of failing */
};

/* text: "step:n", comma-separated: the n-th pass (from 1) of that step fails; "step:n+": and all after it; "step:n@rank",
 * "step:n+@rank": on that rank only; "kill:step:n…": the process is killed (SIGKILL) there instead, and at a stage nothing else
 * is possible. Null or empty: nothing. GF_ERR_INVALID with a sentence that lists steps and stages. */
gf_status gf_fault_parse(const char *text, int rank, struct gf_fault *fault, struct gf_reason *why);

/* Counts a pass of the step; true if this one is to fail, with *why then set. fault may be null. */
bool gf_fault_hits(struct gf_fault *fault, enum gf_fault_step step, struct gf_reason *why);

/* Counts a pass of the stage. fault may be null. */
void gf_fault_pass(struct gf_fault *fault, enum gf_fault_step stage);

#endif
