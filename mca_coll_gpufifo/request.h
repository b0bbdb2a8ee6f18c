/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Our MPI requests: a request that the program holds, around a private inner one that the saved component gave us. It
 * completes after the inner one has completed and the results have reached device memory.
 *
 * Progress comes from a callback of opal_progress, registered with the first request. It never waits.
 */
#ifndef GF_MCA_REQUEST_H
#define GF_MCA_REQUEST_H

#include "mca_coll_gpufifo/stage.h"

/* Requests under way and requests to reuse; one a process, in struct gf_staging; has its own locks. Null: no memory. */
struct gf_request_queue *gf_request_queue_create(void);
void gf_request_queue_destroy(struct gf_request_queue *queue);

/* In place of gf_stage_begin for a non-blocking operation: stages, and holds a request ready if a buffer is in device memory. */
bool gf_request_begin(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function);

/* The same for a persistent operation: makes bounce buffers, but copies only when the request is started. */
bool gf_request_init(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function);

/* In place of gf_stage_end. *request is what the saved function gave; if the call is staged, it becomes ours. The result. */
int gf_request_return(struct gf_stage_call *call, ompi_request_t **request);

#endif
