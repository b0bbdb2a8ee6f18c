/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives to host memory by the PML's own request. Nothing is done here that an ordinary message does not need.
 */
#include "mca_coll_gpufifo/pt2pt/host_receive.h"

#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"

/* Behind a request of the PML that is open. */
struct receive {
    opal_free_list_item_t super;
    ompi_request_t *open;
    ompi_request_free_fn_t pml_free;    /* what frees it when no mark is left */
    bool freed;                         /* by the program, which holds it no more */
    ompi_communicator_t *comm;          /* retained, as the type is: some PMLs do not */
    struct gf_host_data host;
    size_t bytes;                       /* of the program's buffer */
    size_t kept;                        /* bytes of head */
    unsigned char head[GF_HEAD_BYTES];  /* what was in the buffer's first bytes, or, if it has not so many as an RTS, where the
                                           message goes instead */
};

bool gf_host_receives_construct(opal_free_list_t *idle)
{
    OBJ_CONSTRUCT(idle, opal_free_list_t);
    return opal_free_list_init(idle, sizeof(struct receive), opal_cache_line_size, OBJ_CLASS(opal_free_list_item_t), 0,
                               opal_cache_line_size, 0, -1, 32, NULL, 0, NULL, NULL, NULL) == OPAL_SUCCESS;
}

static void release(struct receive *receive)
{
    OMPI_DATATYPE_RELEASE(receive->host.type);
    gf_mpi_release_comm(receive->comm);
    opal_free_list_return(&gf_pt2pt_queue_get()->receives, &receive->super);
}

/* The message is where the program wants it, and its status in the PML's request, from which the marks go. What its callback
 * returns: 1 if it is gone, for a PML lets it be freed there. */
static int end(struct receive *receive)
{
    ompi_request_t *request = receive->open;
    bool freed = receive->freed;

    request->req_free = receive->pml_free;
    request->req_complete_cb_data = NULL;
    release(receive);
    if (OPAL_UNLIKELY(freed)) {
        ompi_request_free(&request);
    }
    return freed;
}

/* A message that was put beside a buffer too short for an RTS. */
static void take_short(const struct receive *receive, ompi_status_public_t *status)
{
    size_t bytes = status->_ucount;

    if (OPAL_UNLIKELY(status->MPI_ERROR != MPI_SUCCESS || status->_cancelled)) {
        return;
    }
    if (OPAL_UNLIKELY(bytes > receive->bytes)) {
        status->MPI_ERROR = MPI_ERR_TRUNCATE;
        bytes = receive->bytes;
    }
    gf_host_data_unpack(&receive->host, receive->head, bytes);
}

/* Called when the request that has the message completes: its status is the PML's. */
static int passed_on(ompi_request_t *ours)
{
    struct receive *receive = ours->req_complete_cb_data;
    ompi_request_t *request = receive->open;

    request->req_status = ours->req_status;
    if (end(receive) == 0) {
        ompi_request_complete(request, true);
    }
    return 0;
}

/* A message that may be an RTS: only the progress callback may look. Nobody but us ever holds the request that it gets. */
static int pass_on(struct receive *receive, const ompi_status_public_t *status)
{
    gf_pt2pt_request_t *request;
    ompi_request_t *outer;
    int result = gf_pt2pt_request_create(&(struct gf_pt2pt_arguments){
        .buffer = receive->host.buffer, .count = receive->host.count, .type = receive->host.type, .peer = status->MPI_SOURCE,
        .tag = status->MPI_TAG, .comm = receive->comm, .function = "MPI_Irecv"}, &request);

    if (result != MPI_SUCCESS) {
        return result;
    }
    memcpy(request->head, receive->head, sizeof request->head);
    request->kept = receive->kept;
    outer = gf_pt2pt_request_outer(request);
    outer->req_status = *status;
    outer->req_complete_cb = passed_on;
    outer->req_complete_cb_data = receive;
    request->phase = GF_PT2PT_CAME;
    gf_pt2pt_request_begin(request);
    gf_pt2pt_queue_add(gf_pt2pt_queue_get(), request);
    return ompi_request_free(&outer);
}

/* Called by Open MPI when the PML completes the request. Returns 1: it stays open, or is gone. */
static int came(ompi_request_t *request)
{
    struct receive *receive = request->req_complete_cb_data;
    ompi_status_public_t *status = &request->req_status;

    if (OPAL_UNLIKELY(status->_ucount == GF_RTS_BYTES)) {
        int result = pass_on(receive, status);

        if (result == MPI_SUCCESS) {
            return 1;
        }
        status->MPI_ERROR = result;
    }
    if (receive->bytes < GF_RTS_BYTES) {
        take_short(receive, status);
    }
    return end(receive);
}

/* MPI_Request_free of an open request. */
static int request_free(ompi_request_t **request)
{
    struct receive *receive = (*request)->req_complete_cb_data;

    receive->freed = true;
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/* One that is complete already has not been seen so by anybody. */
static void open_request(struct receive *receive, ompi_request_t *request)
{
    receive->open = request;
    receive->freed = false;
    receive->pml_free = request->req_free;
    request->req_free = request_free;
    request->req_complete_cb_data = receive;
    if (!REQUEST_COMPLETE(request)) {
        request->req_complete_cb = came;
    } else if (came(request) != 0) {
        request->req_complete = REQUEST_PENDING;
    }
}

int gf_host_receive(const struct gf_host_data *host, int peer, int tag, ompi_communicator_t *comm, ompi_request_t **request)
{
    struct receive *receive = (struct receive *)opal_free_list_get(&gf_pt2pt_queue_get()->receives);
    int result;

    if (OPAL_UNLIKELY(!receive)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    receive->comm = comm;
    receive->host = *host;
    receive->bytes = gf_host_data_bytes(host);
    OBJ_RETAIN(comm);
    OMPI_DATATYPE_RETAIN(host->type);
    if (receive->bytes < GF_RTS_BYTES) {
        result = gf_pt2pt_saved()->pml_irecv(receive->head, GF_RTS_BYTES, MPI_PACKED, peer, tag, comm, request);
    } else {
        receive->kept = gf_host_data_head(host, receive->head);
        result = gf_pt2pt_saved()->pml_irecv(host->buffer, host->count, host->type, peer, tag, comm, request);
    }
    if (OPAL_LIKELY(result == MPI_SUCCESS)) {
        open_request(receive, *request);
    } else {
        release(receive);
    }
    return result;
}
