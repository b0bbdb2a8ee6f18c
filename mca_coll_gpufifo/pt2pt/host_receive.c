/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short way of a non-blocking receive to host memory, in a process with one thread: what host programs do most, so nothing
 * is done here that an ordinary message does not need. Requests are kept with all that is equal in each of them; an RTS makes of
 * one a request like any other.
 */
#include "mca_coll_gpufifo/pt2pt/host_receive.h"

#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"

/* A message that was put beside a buffer too short for an RTS. */
static void take_short(gf_pt2pt_request_t *request, ompi_status_public_t *status)
{
    struct gf_host_data host = gf_pt2pt_request_host_data(request);
    size_t bytes = status->_ucount;

    if (status->MPI_ERROR != MPI_SUCCESS || status->_cancelled) {
        return;
    }
    if (OPAL_UNLIKELY(bytes > request->bytes)) {
        status->MPI_ERROR = MPI_ERR_TRUNCATE;
        bytes = request->bytes;
    }
    gf_host_data_unpack(&host, request->head, bytes);
}

void gf_host_receive_landed(gf_pt2pt_request_t *request)
{
    ompi_request_t *outer = gf_pt2pt_request_outer(request);
    const ompi_status_public_t *status = &request->inner->req_status;

    if (OPAL_UNLIKELY(request->device || status->_ucount == GF_RTS_BYTES)) {
        gf_pt2pt_queue_add(gf_pt2pt_queue_get(), request);
        return;
    }
    outer->req_status = *status;
    if (request->bytes < GF_RTS_BYTES) {
        take_short(request, &outer->req_status);
    }
    request->phase = GF_PT2PT_IDLE;
    ompi_request_complete(outer, true);
    if (OPAL_UNLIKELY(gf_pt2pt_request_let_go(request, GF_HOLD_PROGRAM) == GF_HOLD_OURS)) {
        gf_pt2pt_request_destroy(request);
    }
}

/* Called by Open MPI when the inner receive completes. Returns 1: the inner request may be gone, or in use again. The PML's
 * pool must get it back without our mark. */
static int inner_completed(ompi_request_t *inner)
{
    gf_pt2pt_request_t *request = inner->req_complete_cb_data;

    inner->req_complete_cb_data = NULL;
    inner->req_complete = REQUEST_COMPLETED;
    gf_host_receive_landed(request);
    return 1;
}

void gf_host_receive_watch(gf_pt2pt_request_t *request)
{
    if (REQUEST_COMPLETE(request->inner)) {
        gf_host_receive_landed(request);
    } else {
        request->inner->req_complete_cb_data = request;
        request->inner->req_complete_cb = inner_completed;
    }
}

/* A request that was one like this before: only what differs is written. */
static gf_pt2pt_request_t *renew(struct gf_pt2pt_queue *queue, const struct gf_host_data *host, int peer, int tag,
                                 ompi_communicator_t *comm)
{
    gf_pt2pt_request_t *request = queue->spare;
    mca_pml_base_request_t *base = &request->super;

    queue->spare = request->next_spare;
    base->req_ompi.req_mpi_object.comm = comm;
    base->req_ompi.req_complete_cb = NULL;
    base->req_comm = comm;
    base->req_datatype = host->type;
    base->req_addr = host->buffer;
    base->req_count = host->count;
    base->req_peer = peer;
    base->req_tag = tag;
    request->bytes = gf_host_data_bytes(host);
    OBJ_RETAIN(comm);
    OMPI_DATATYPE_RETAIN(host->type);
    return request;
}

static int create(const struct gf_host_data *host, int peer, int tag, ompi_communicator_t *comm, gf_pt2pt_request_t **request)
{
    int result = gf_pt2pt_request_create(&(struct gf_pt2pt_arguments){
        .buffer = host->buffer, .count = host->count, .type = host->type, .peer = peer, .tag = tag, .comm = comm,
        .function = "MPI_Irecv"}, request);

    if (result == MPI_SUCCESS) {
        (*request)->plain = true;
    }
    return result;
}

int gf_host_receive(const struct gf_host_data *host, int peer, int tag, ompi_communicator_t *comm, ompi_request_t **created)
{
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();
    gf_pt2pt_request_t *request;
    int result;

    if (OPAL_LIKELY(queue->spare)) {
        request = renew(queue, host, peer, tag, comm);
    } else {
        result = create(host, peer, tag, comm, &request);
        if (result != MPI_SUCCESS) {
            return result;
        }
    }
    if (request->bytes < GF_RTS_BYTES) {
        result = gf_pt2pt_saved()->pml_irecv(request->head, GF_RTS_BYTES, MPI_PACKED, peer, tag, comm, &request->inner);
    } else {
        request->kept = gf_host_data_head(host, request->head);
        result = gf_pt2pt_saved()->pml_irecv(host->buffer, host->count, host->type, peer, tag, comm, &request->inner);
    }
    if (OPAL_UNLIKELY(result != MPI_SUCCESS)) {
        request->inner = NULL;
        gf_pt2pt_request_destroy(request);
        return result;
    }
    request->phase = GF_PT2PT_INNER;
    gf_pt2pt_request_begin(request);
    *created = gf_pt2pt_request_outer(request);
    gf_host_receive_watch(request);
    return MPI_SUCCESS;
}
