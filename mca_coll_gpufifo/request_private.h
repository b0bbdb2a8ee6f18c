/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request of ours, for the files that move it on.
 */
#ifndef GF_MCA_REQUEST_PRIVATE_H
#define GF_MCA_REQUEST_PRIVATE_H

#include "mca_coll_gpufifo/hold.h"
#include "mca_coll_gpufifo/request.h"

#include "ompi/mca/coll/base/coll_base_util.h"

enum gf_request_phase {
    GF_REQUEST_FLYING,       /* native, as long as nothing is against it (flight.h) */
    GF_REQUEST_LOADING,      /* something was: what the saved component needs is on its way to host memory */
    GF_REQUEST_INNER,        /* the saved component is at work */
    GF_REQUEST_STORE         /* results are on their way to device memory */
};

/* Open MPI hangs the datatypes and the operation of a non-blocking collective on the request it gets, by this base class. */
typedef struct gf_stage_request {
    ompi_coll_base_nbc_request_t super;
    ompi_request_t *inner;             /* ours; null as long as there is none, and once a non-blocking one is done */
    struct gf_stage_call call;
    enum gf_request_phase phase;
    _Atomic int hold;                  /* enum gf_hold */
    struct gf_flight *flight;          /* null: it is staged from the start. What follows is of flights: */
    struct gf_saved_call saved;
    void *kept[2];                     /* arrays of saved and call (kept.h) */
    const char *function;
    int32_t place;                     /* of the saved call (gf_mpi_take_place); where it was made, saved.placed lives as long as
                                          inner does */
} gf_stage_request_t;
OBJ_CLASS_DECLARATION(gf_stage_request_t);

/* The base of the request, as Open MPI sees it. */
static inline ompi_request_t *gf_request_outer(gf_stage_request_t *request)
{
    return &request->super.super;
}

/* A request for the call to move into, inactive; kept in call->request. False: no memory, call->result tells. */
bool gf_request_reserve(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function, bool persistent);

/* From the program's side the request is now under way. */
void gf_request_enqueue(gf_stage_request_t *request, enum gf_request_phase phase);

/* Ends its life; it is under way no more. */
void gf_request_give_back(gf_stage_request_t *request);

/* Starts a persistent one that has a flight. */
void gf_request_restart(gf_stage_request_t *request);

/* The end of a persistent one that has a flight. The communicator may go with it. */
void gf_request_unbook(gf_stage_request_t *request);

/* Moves on one that has no inner request yet. True: it has ended, and its result is in the call. False: it has not; if its phase
 * is GF_REQUEST_INNER now, it goes on as a staged one. In the progress callback. */
bool gf_request_fly(gf_stage_request_t *request);

#endif
