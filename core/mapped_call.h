/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call over mapped buffers in which nothing waits on the device: the hosts meet before and after it.
 *
 *     ENTERING ──all have──▶ start ──▶ RUNNING ──own part done──▶ LEAVING ──all have──▶ settle ──▶ SETTLING ──▶ ended
 *
 * The same for all such operations; what this rank does on its device in between distinguishes them. Between ENTERING and the end
 * of LEAVING this rank may load from the peers' buffers, and its own must stay as they are. Each step answers and never waits, so
 * a call is driven by whoever polls it: the caller, until it has ended, or another thread.
 */
#ifndef GF_CORE_MAPPED_CALL_H
#define GF_CORE_MAPPED_CALL_H

#include "core/comm.h"
#include "core/registry.h"

/* The registry's number of the buffer that others load from. */
enum { GF_MAPPED_SEND = 0 };

/* A buffer in device memory of the communicator's device, inside one allocation. */
struct gf_mapped_buffer {
    char *address;                 /* user address; null: there is nothing in it */
    size_t bytes;                  /* from the first to behind the last byte that is used */
    struct gf_pointer where;       /* what gf_driver_pointer says of it */
};

enum gf_mapped_step {
    GF_MAPPED_ENTERING, GF_MAPPED_STARTING, GF_MAPPED_RUNNING, GF_MAPPED_LEAVING, GF_MAPPED_SETTLING, GF_MAPPED_SETTLED,
    GF_MAPPED_ENDED
};

/* Starts this rank's part on the communicator's execution (gf_execution_start, gf_execution_start_copy), and does not wait. */
struct gf_mapped_call;
typedef gf_status gf_mapped_part(gf_comm *comm, const struct gf_mapped_call *call, struct gf_reason *why);

/* Owned by the caller, who fills it down to ctx, and keeps it, and what it points to, where it is until it has ended. */
struct gf_mapped_call {
    const char *name;              /* for messages */
    uint64_t what[2];              /* which operation: must be equal on all ranks */
    const struct gf_mapped_buffer *send;      /* what others load from */
    const struct gf_registry_block *give;     /* [ranks]: what is for each of them in it; null: they know */
    gf_mapped_part *start;         /* once all have entered */
    gf_mapped_part *settle;        /* once all have left; null: nothing is left to do */
    const void *ctx;               /* the caller's */
    enum gf_mapped_step step;
    gf_status cause;               /* not GF_OK: why it ends early */
    struct gf_reason because;
};

/* Collective, in an unbroken communicator that has connected mapped buffers (or has one rank): enters. One call at a time in a
 * communicator, one thread at a time. */
void gf_mapped_call_start(gf_comm *comm, struct gf_mapped_call *call);

/* Goes on as far as it can. GF_IN_PROGRESS: poll again. Else it has ended, and nothing of it runs on the device.
 * GF_ERR_UNSUPPORTED, on all ranks alike and before anything moved: not all have mapped the buffers, stage. After other errors
 * the communicator is dead. */
gf_status gf_mapped_call_poll(gf_comm *comm, struct gf_mapped_call *call, struct gf_reason *why);

/* Between polls: it shall end for this reason, as soon as nothing of it runs on the device. The first reason counts. */
void gf_mapped_call_cancel(struct gf_mapped_call *call, gf_status cause, const struct gf_reason *why);

/* Polls until it has ended, makes the owner's progress, and looks whether the peers live. */
gf_status gf_mapped_call_finish(gf_comm *comm, struct gf_mapped_call *call, struct gf_reason *why);

#endif
