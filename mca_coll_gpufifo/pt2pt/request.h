/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our point-to-point requests: the one that the program holds, around a private inner one of the PML.
 *
 *   send of a device buffer:
 *     inactive ──start──▶ INNER    the data's copy in host memory goes           ──────────────────────────────▶ complete
 *                    └──▶ OFFERED  the RTS goes, the receiver fetches the data   ──────────────────────────────▶ complete
 *   receive, of a buffer of any kind:
 *     inactive ──start──▶ INNER ──ordinary data──▶ (device: STORE, what came is on its way to the device) ─────▶ complete
 *                           └─────RTS──▶ PULL, the data are on their way ──▶ (device, with gaps: STORE) ──────▶ complete
 *
 * Most receives of most programs are MPI_Irecv to host memory with one thread, and have none of this. Only a message of theirs
 * that may be an RTS gets a request of ours; the program does not see it, and it begins as one that CAME (host_receive.h).
 *
 * With one thread, a callback of a receive's inner request tells that its message is there, and ends it if that is ordinary data
 * in host memory (post.c). All else is in the queue's list and moved on by the progress callback (queue.c), which never waits,
 * and calls into MPI only outside of its lock.
 */
#ifndef GF_MCA_PT2PT_REQUEST_H
#define GF_MCA_PT2PT_REQUEST_H

#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/mca/pml/pml.h"

#include "mca_coll_gpufifo/hold.h"
#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/pt2pt/bounce.h"
#include "mca_coll_gpufifo/pt2pt/fetch.h"
#include "mca_coll_gpufifo/pt2pt/host_data.h"
#include "mca_coll_gpufifo/pt2pt/rendezvous.h"
#include "mca_coll_gpufifo/pt2pt/rts.h"

enum gf_pt2pt_phase { GF_PT2PT_IDLE, GF_PT2PT_INNER, GF_PT2PT_CAME, GF_PT2PT_OFFERED, GF_PT2PT_PULL, GF_PT2PT_STORE };

/* Open MPI looks for peer, tag, communicator and the rest of the arguments in the base class. */
typedef struct gf_pt2pt_request {
    mca_pml_base_request_t super;
    ompi_request_t *inner;             /* the PML's; null when none is under way */
    enum gf_pt2pt_phase phase;
    _Atomic int hold;                  /* enum gf_hold */
    bool device;                       /* the program's buffer is in device memory */
    bool counted;                      /* by the queue */
    mca_pml_base_send_mode_t mode;     /* of a send */
    const char *function;              /* MPI's name, for messages */
    size_t bytes;                      /* of the program's buffer */
    size_t kept;                       /* bytes of head */
    unsigned char head[GF_HEAD_BYTES]; /* send: the RTS. Receive to host memory: what was in the buffer's first bytes, or, if it
                                          has not so many, where the message goes instead */
    struct gf_pt2pt_bounce bounce;     /* closed if the message needs none */
    struct gf_offering offering;       /* OFFERED */
    struct gf_fetch fetch;             /* PULL */
    size_t pulled;                     /* bytes that it fetches */
} gf_pt2pt_request_t;
OBJ_CLASS_DECLARATION(gf_pt2pt_request_t);

/* What a request is made of. */
struct gf_pt2pt_arguments {
    const void *buffer;
    size_t count;
    ompi_datatype_t *type;
    int peer, tag;
    ompi_communicator_t *comm;
    mca_pml_base_send_mode_t mode;     /* of a send */
    bool send, persistent;
    const struct gf_pointer *where;    /* the allocation in device memory that has the buffer; null: it is host memory */
    const char *function;
};

/* A request, inactive. Keeps communicator and datatype. MPI_SUCCESS, or the error, which was reported. */
int gf_pt2pt_request_create(const struct gf_pt2pt_arguments *arguments, gf_pt2pt_request_t **request);

/* One that is not under way. */
void gf_pt2pt_request_destroy(gf_pt2pt_request_t *request);

/* Tells the program, which may free or start it again from then on. Its status is complete; nothing is under way. */
void gf_pt2pt_request_complete(gf_pt2pt_request_t *request);

static inline ompi_request_t *gf_pt2pt_request_outer(gf_pt2pt_request_t *request) { return &request->super.req_ompi; }
static inline bool gf_pt2pt_request_sends(const gf_pt2pt_request_t *request)
{
    return request->super.req_type == MCA_PML_REQUEST_SEND;
}

static inline struct gf_host_data gf_pt2pt_request_host_data(const gf_pt2pt_request_t *request)
{
    return (struct gf_host_data){request->super.req_addr, request->super.req_count, request->super.req_datatype};
}

/* Reports a failure of ours; MPI's error. */
static inline int gf_pt2pt_request_report(gf_pt2pt_request_t *request, gf_status status, const struct gf_reason *why)
{
    return gf_error_to_mpi(status, why, request->super.req_comm, request->function);
}

/* To the program it is active from here on: the inner request was posted, or its message has come. */
static inline void gf_pt2pt_request_begin(gf_pt2pt_request_t *request)
{
    ompi_request_t *outer = gf_pt2pt_request_outer(request);

    gf_hold_set(&request->hold, GF_HOLD_BOTH);
    outer->req_complete = REQUEST_PENDING;
    outer->req_state = OMPI_REQUEST_ACTIVE;
}

/* Posts it to the PML. MPI_SUCCESS, and it is active; or the error, and it is as before. (post.c) */
int gf_pt2pt_request_post(gf_pt2pt_request_t *request);

/* The same for a receive of a message that MPI_Mprobe matched. (post.c) */
int gf_pt2pt_request_post_matched(gf_pt2pt_request_t *request, struct ompi_message_t **message);

/* Waits for a request that only its call knows. The result. One that has ended with an error Open MPI leaves to be freed by who
 * calls the error handler, which in a blocking call does not know of it. A receive from any rank it may leave posted, where one
 * of them has failed. */
static inline int gf_pt2pt_request_wait(ompi_request_t *request, ompi_status_public_t *status)
{
    int result = ompi_request_wait(&request, status);

    if (OPAL_UNLIKELY(result != MPI_SUCCESS && request != MPI_REQUEST_NULL)) {
        if (gf_mpi_left_posted(request)) {
            (void)ompi_request_cancel(request);
        }
        (void)ompi_request_free(&request);
    }
    return result;
}

/* Creates one, and posts it unless it is persistent. The result. (post.c) */
int gf_pt2pt_request_new(const struct gf_pt2pt_arguments *arguments, ompi_request_t **request);

/* Starts persistent ones, as MPI_Startall; all are ours. (persistent.c) */
int gf_pt2pt_request_start(size_t count, ompi_request_t **requests);

/* A message has come for this receive, which is active: `status` is what the PML says of it, `data` has its bytes, of which there
 * were at least as many as an RTS has; null: they are where the receive was posted to. True: the request has ended. With the
 * queue's lock held, unless it is about ordinary data in host memory. (arrive.c) */
bool gf_pt2pt_request_arrive(gf_pt2pt_request_t *request, const ompi_status_public_t *status, const void *data);

/* Moves a pull or a store on. True: the request has ended. With the queue's lock held. (arrive.c) */
bool gf_pt2pt_request_pull_on(gf_pt2pt_request_t *request);
bool gf_pt2pt_request_store_on(gf_pt2pt_request_t *request);

#endif
