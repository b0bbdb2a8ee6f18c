/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of messages with a buffer in device memory: the one that the program holds, around a private inner one of the PML.
 *
 *   inactive ──start──▶ INNER ──inner complete──▶ STORE ──copy done──▶ complete for the program
 *                         └──────── a send, or nothing to copy ───────────▲
 *
 * A request under way is in the queue's list and belongs to the progress callback; only there does its phase change. The callback
 * never waits, and calls into MPI only outside of the lock.
 */
#ifndef GF_MCA_PT2PT_REQUEST_H
#define GF_MCA_PT2PT_REQUEST_H

#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/mca/pml/pml.h"

#include "mca_coll_gpufifo/pt2pt/bounce.h"

/* Requests under way and requests to reuse, one a process; any thread. */
struct gf_pt2pt_queue *gf_pt2pt_queue_create(void);
/* Requests still under way are left as they are: the PML may still write to their memory. */
void gf_pt2pt_queue_destroy(struct gf_pt2pt_queue *queue);
int gf_pt2pt_queue_active(struct gf_pt2pt_queue *queue);

enum gf_pt2pt_phase {
    GF_PT2PT_INNER,                    /* the PML is at work */
    GF_PT2PT_STORE,                    /* what was received is on its way to device memory */
    GF_PT2PT_IDLE                      /* neither: not started, or ended */
};

/* Open MPI looks for peer, tag, communicator and the rest of the arguments in the base class. */
typedef struct gf_pt2pt_request {
    mca_pml_base_request_t super;
    ompi_request_t *inner;             /* the PML's; null when none is under way */
    struct gf_pt2pt_bounce bounce;
    enum gf_pt2pt_phase phase;
    mca_pml_base_send_mode_t mode;     /* of a send */
    const char *function;              /* MPI's name, for messages */
    _Atomic int hold;                  /* who else has it; request.c */
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
    const char *function;
};

/* A request, inactive, with an open bounce. Keeps communicator and datatype. MPI_SUCCESS, or the error, which was reported. */
int gf_pt2pt_request_create(const struct gf_pt2pt_arguments *arguments, gf_pt2pt_request_t **request);

/* Its inner request was posted: to the program it is active now, and the progress callback's. */
void gf_pt2pt_request_activate(gf_pt2pt_request_t *request, ompi_request_t *inner);

/* A persistent request that the program saw completed may still be in the callback's hands, in another thread: waits for that. */
void gf_pt2pt_request_await_callback(gf_pt2pt_request_t *request);

/* One that is not under way. */
void gf_pt2pt_request_destroy(gf_pt2pt_request_t *request);

static inline ompi_request_t *gf_pt2pt_request_outer(gf_pt2pt_request_t *request) { return &request->super.req_ompi; }
static inline bool gf_pt2pt_request_sends(const gf_pt2pt_request_t *request)
{
    return request->super.req_type == MCA_PML_REQUEST_SEND;
}

/* Copies what is to be sent, posts the inner request and activates; the result. On failure the request is as before. (post.c) */
int gf_pt2pt_request_post(gf_pt2pt_request_t *request);

/* Creates one, and posts it unless it is persistent. The result. (post.c) */
int gf_pt2pt_request_new(const struct gf_pt2pt_arguments *arguments, ompi_request_t **request);

/* Starts persistent ones, as MPI_Startall; all are ours. (persistent.c) */
int gf_pt2pt_request_start(size_t count, ompi_request_t **requests);

#endif
