/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging: a collective with device buffers runs through host memory and the component that had it before us.
 *
 * Each buffer argument gets a bounce buffer with the same layout, so that counts, displacements, types and operations are
 * passed on unchanged and only addresses differ. What the operation reads is copied to the bounce before it, what it writes
 * is copied back after it, block by block where the layout has gaps: the gaps belong to somebody else, who may be writing
 * them. Host buffers and buffers that this rank's role makes insignificant are passed on as they are.
 *
 * A collective describes its buffers and then is three thin callers:
 *
 *     struct gf_stage_call call;
 *     if (!gf_stage_passes(&call, NULL, buffer)) {                     host memory for certain: nothing to describe
 *         call = describe(...);
 *     }
 *     if (gf_stage_begin(&call, comm, "MPI_Bcast")) {                  or gf_request_begin, gf_request_init (request.h)
 *         call.result = saved->coll_bcast(call.recv.host, ...);
 *     }
 *     return gf_stage_end(&call);                                      or gf_request_return
 */
#ifndef GF_MCA_STAGE_H
#define GF_MCA_STAGE_H

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/stage_layout.h"

struct gf_staged;                      /* stage.c: bounce buffers and copies */
struct gf_stage_request;               /* request.c */

/* One buffer argument. */
struct gf_stage_buffer {
    void *user;                        /* as the program passed it; MPI_IN_PLACE and null too */
    struct gf_layout in;               /* what the operation reads there */
    struct gf_layout out;              /* what it writes there */
    void *host;                        /* what to pass to the saved function: user, or an address in the bounce */
};

/* Layouts borrow the caller's arrays until begin has returned. */
struct gf_stage_call {
    struct gf_stage_buffer send, recv;
    int result;                        /* MPI or OMPI error code, MPI_SUCCESS at first */
    bool passes;                       /* all in host memory: of the buffers only `host` is set */
    bool told;                         /* the log has said already why it is staged */
    struct gf_staged *staged;          /* null: no significant buffer lies in device memory */
    struct gf_stage_request *request;  /* where the call moves to when it outlives its function */
};

/* The fast way for host-only programs: true if both addresses are host memory for certain (or MPI_IN_PLACE), and then the call is
 * ready. A buffer's data is in the same memory as its address, but for MPI_BOTTOM, which is never certain. */
static inline bool gf_stage_passes(struct gf_stage_call *call, const void *send, void *recv)
{
    if ((send != MPI_IN_PLACE && !gf_memory_is_known_host(send)) || (recv != MPI_IN_PLACE && !gf_memory_is_known_host(recv))) {
        return false;
    }
    call->send.host = (void *)send;
    call->recv.host = recv;
    call->result = MPI_SUCCESS;
    call->passes = true;
    call->staged = NULL;
    return true;
}

/* A call with these two buffers. Functions that have one buffer only call it recv. */
static inline struct gf_stage_call gf_stage_call(const void *send, struct gf_layout send_in,
                                                 void *recv, struct gf_layout recv_in, struct gf_layout recv_out)
{
    return (struct gf_stage_call){
        .send = {.user = (void *)send, .in = send_in, .host = (void *)send},
        .recv = {.user = recv, .in = recv_in, .out = recv_out, .host = recv},
        .result = MPI_SUCCESS,
    };
}

/* Is this buffer significant, and has it data in device memory? Its address may lie outside of the memory (MPI_BOTTOM, lower
 * bounds, displacements), a byte of its data cannot. */
static inline bool gf_stage_buffer_is_device(const struct gf_stage_buffer *buffer)
{
    ptrdiff_t offset;

    return (gf_layout_any_byte(&buffer->in, &offset) || gf_layout_any_byte(&buffer->out, &offset)) &&
           gf_memory_is_device(gf_layout_address(buffer->user, offset));
}

static inline bool gf_stage_needed(const struct gf_stage_call *call)
{
    return !call->passes && (gf_stage_buffer_is_device(&call->send) || gf_stage_buffer_is_device(&call->recv));
}

/* The life of a staged call: prepare → (load → the saved function → store → settle)* → discard, one thread at a time.
 * Those that return bool return false when they failed: call->result then has the error, which was reported. */
bool gf_stage_prepare(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function);
bool gf_stage_load(struct gf_stage_call *call);           /* waits for the copies */
bool gf_stage_start_load(struct gf_stage_call *call);     /* does not wait: poll, then settle */
bool gf_stage_store(struct gf_stage_call *call);          /* does not wait */
bool gf_stage_poll(struct gf_stage_call *call);           /* true: the copies of load or store have ended, well or not */
void gf_stage_settle(struct gf_stage_call *call);         /* waits for all its copies; it may then be loaded again */
void gf_stage_discard(struct gf_stage_call *call);        /* settles and gives everything back; may be repeated */

bool gf_stage_begin_staged(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function);
int gf_stage_end_staged(struct gf_stage_call *call);

/* Before the saved function: false means do not call it, call->result says why. comm: whose errors these are; may be null.
 * function: MPI's name of it, for messages; lives for ever. */
static inline bool gf_stage_begin(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function)
{
    return !gf_stage_needed(call) || gf_stage_begin_staged(call, comm, function);
}

/* After it, in both cases: the result of the whole call. */
static inline int gf_stage_end(struct gf_stage_call *call)
{
    return call->staged ? gf_stage_end_staged(call) : call->result;
}

#endif
