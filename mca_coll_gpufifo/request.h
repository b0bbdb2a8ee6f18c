/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our MPI requests: a request that the program holds, around a private inner one that the saved component gave us. It
 * completes after the inner one has completed and the results have reached device memory.
 *
 * Progress comes from a callback of opal_progress, registered with the first request. It never waits.
 */
#ifndef GF_MCA_REQUEST_H
#define GF_MCA_REQUEST_H

#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/stage.h"

/* Requests under way and requests to reuse; one a process, in struct gf_staging; has its own locks. Null: no memory. */
struct gf_request_queue *gf_request_queue_create(void);
void gf_request_queue_destroy(struct gf_request_queue *queue);

/* In place of gf_stage_begin for a non-blocking operation: stages, and holds a request ready if a buffer is in device memory. */
bool gf_request_begin(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function);

/* The same for a persistent operation: makes bounce buffers, but copies only when the request is started. */
bool gf_request_init(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function);

/* A call of the saved component that may be made later: by start, which passes the buffers of `call`, in host memory. Arrays are
 * the program's, which keeps them until the operation has ended. */
struct gf_saved_call {
    int (*start)(const struct gf_saved_call *saved, const struct gf_stage_call *call, ompi_request_t **request);
    mca_coll_base_module_t *owner;     /* whose function that is */
    mca_coll_gpufifo_module_t *module; /* ours */
    gf_mpi_count scount, rcount;       /* the arguments that the function has */
    gf_mpi_counts scounts, rcounts;
    gf_mpi_displs sdispls, rdispls;
    gf_mpi_byte_displs sbytes, rbytes;
    ompi_datatype_t *stype, *rtype;
    ompi_datatype_t *const *stypes, *const *rtypes;
    ompi_op_t *op;
    int root;
    ompi_communicator_t *placed;       /* null, or where it is called in a place that was taken before (placed.h) */
};

/* The communicator for start. */
static inline ompi_communicator_t *gf_saved_comm(const struct gf_saved_call *saved)
{
    return saved->placed ? saved->placed : saved->module->comm;
}

/* A non-blocking operation with device buffers sets off natively (flight.h, whose flight it takes) and is staged only if it must.
 * False: no memory for a request, call->result tells, and the call was not entered. */
struct gf_flight;
bool gf_request_depart(struct gf_stage_call *call, const struct gf_saved_call *saved, const char *function,
                       struct gf_flight *flight, ompi_request_t **request);

/* Collective, when all ranks have entered the initialisation of a persistent one natively: its request, whose starts are flights
 * (turns.h). Null flight: this rank has no memory. GF_ERR_UNSUPPORTED, on all ranks alike: stage it. */
gf_status gf_request_book(struct gf_stage_call *call, const struct gf_saved_call *saved, const char *function,
                          struct gf_flight *flight, ompi_request_t **request, struct gf_reason *why);

/* In place of gf_stage_end. *request is what the saved function gave; if the call is staged, it becomes ours. The result. */
int gf_request_return(struct gf_stage_call *call, ompi_request_t **request);

#endif
