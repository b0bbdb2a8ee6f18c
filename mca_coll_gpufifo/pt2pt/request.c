/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of our point-to-point requests.
 */
#include "mca_coll_gpufifo/pt2pt/request.h"

#include "mca_coll_gpufifo/pt2pt/queue.h"

static void request_construct(gf_pt2pt_request_t *request)
{
    request->inner = NULL;
    request->phase = GF_PT2PT_IDLE;
    request->bounce = (struct gf_pt2pt_bounce){0};
    gf_mpi_hand_over(request);
}

OBJ_CLASS_INSTANCE(gf_pt2pt_request_t, mca_pml_base_request_t, request_construct, NULL);

/* MPI_COMM_WORLD and MPI_COMM_SELF stay, and to count their uses costs as much as a lock where there are threads. */
static void retain_comm(ompi_communicator_t *comm)
{
    if (!OMPI_COMM_IS_INTRINSIC(comm)) {
        OBJ_RETAIN(comm);
    }
}

static void release_comm(ompi_communicator_t *comm)
{
    if (!OMPI_COMM_IS_INTRINSIC(comm)) {
        gf_mpi_release_comm(comm);
    }
}

void gf_pt2pt_request_destroy(gf_pt2pt_request_t *request)
{
    if (request->inner) {
        ompi_request_free(&request->inner);
        request->inner = NULL;
    }
    if (OPAL_UNLIKELY(request->bounce.pool != NULL)) {
        gf_pt2pt_bounce_close(&request->bounce);
    }
    OMPI_REQUEST_FINI(gf_pt2pt_request_outer(request));
    OMPI_DATATYPE_RELEASE(request->super.req_datatype);
    release_comm(request->super.req_comm);
    gf_mpi_hand_over(request);
    opal_free_list_return(&gf_pt2pt_queue_get()->idle, (opal_free_list_item_t *)request);
}

/* MPI_Request_free, and what MPI_Wait does with a completed request. */
static int request_free(ompi_request_t **request)
{
    gf_pt2pt_request_t *ours = (gf_pt2pt_request_t *)*request;

    *request = MPI_REQUEST_NULL;
    gf_mpi_take_over(ours);
    if (gf_hold_let_go(&ours->hold, GF_HOLD_OURS) == GF_HOLD_PROGRAM) {
        gf_pt2pt_request_destroy(ours);
    }
    return OMPI_SUCCESS;
}

/* The inner request decides. Once it is complete, the message was received or sent: too late. So it is once it was offered. With
 * threads, the lock keeps the inner request from being freed by another one; with one thread, cancelling may call us back. */
static int request_cancel(ompi_request_t *request, int flag)
{
    gf_pt2pt_request_t *ours = (gf_pt2pt_request_t *)request;
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();
    int result = OMPI_SUCCESS;
    (void)flag;

    gf_pt2pt_queue_lock(queue);
    if (ours->phase == GF_PT2PT_INNER && !REQUEST_COMPLETE(ours->inner)) {
        result = ompi_request_cancel(ours->inner);
    }
    gf_pt2pt_queue_unlock(queue);
    return result;
}

static void fill(gf_pt2pt_request_t *request, const struct gf_pt2pt_arguments *arguments)
{
    mca_pml_base_request_t *base = &request->super;
    ompi_request_t *outer = &base->req_ompi;

    OMPI_REQUEST_INIT(outer, arguments->persistent);
    outer->req_type = OMPI_REQUEST_PML;
    outer->req_mpi_object.comm = arguments->comm;
    outer->req_status = ompi_status_empty;
    outer->req_start = gf_pt2pt_request_start;
    outer->req_free = request_free;
    outer->req_cancel = request_cancel;
    base->req_pml_complete = false;
    base->req_free_called = false;
    base->req_type = arguments->send ? MCA_PML_REQUEST_SEND : MCA_PML_REQUEST_RECV;
    base->req_comm = arguments->comm;
    base->req_datatype = arguments->type;
    base->req_addr = (void *)arguments->buffer;
    base->req_count = arguments->count;
    base->req_peer = arguments->peer;
    base->req_tag = arguments->tag;
    base->req_proc = NULL;
    base->req_sequence = 0;
    request->device = arguments->where != NULL;
    request->counted = false;
    request->mode = arguments->mode;
    request->function = arguments->function;
    request->bytes = arguments->count * arguments->type->super.size;
    gf_hold_set(&request->hold, GF_HOLD_PROGRAM);
    retain_comm(arguments->comm);
    OMPI_DATATYPE_RETAIN(arguments->type);
}

int gf_pt2pt_request_create(const struct gf_pt2pt_arguments *arguments, gf_pt2pt_request_t **created)
{
    struct gf_reason why;
    gf_pt2pt_request_t *request = (gf_pt2pt_request_t *)opal_free_list_get(&gf_pt2pt_queue_get()->idle);
    gf_status status;
    int result;

    if (OPAL_UNLIKELY(!request)) {
        gf_reason_set(&why, "no host memory for a request");
        return gf_error_to_mpi(GF_ERR_NO_MEMORY, &why, arguments->comm, arguments->function);
    }
    why.text[0] = '\0';
    gf_mpi_take_over(request);
    fill(request, arguments);
    if (arguments->where) {
        status = gf_pt2pt_bounce_open(&request->bounce, arguments->buffer, arguments->count, arguments->type, arguments->where,
                                      &why);
        if (status == GF_OK) {
            gf_pt2pt_queue_prepare(gf_pt2pt_queue_get(), request->bounce.where.ordinal);
        } else {
            result = gf_pt2pt_request_report(request, status, &why);
            gf_pt2pt_request_destroy(request);
            return result;
        }
    }
    *created = request;
    return MPI_SUCCESS;
}

/* An inner request may be freed from within its own completion, so a receive to host memory, which completes there, keeps it
 * until it is freed itself. */
void gf_pt2pt_request_complete(gf_pt2pt_request_t *request)
{
    struct gf_reason why;

    if (OPAL_UNLIKELY(request->bounce.pool != NULL)) {
        if (gf_pt2pt_request_outer(request)->req_persistent && request->device) {
            gf_pt2pt_bounce_finish(&request->bounce, &why);
        } else {
            gf_pt2pt_bounce_close(&request->bounce);
        }
    }
    gf_mpi_hand_over(request);
    ompi_request_complete(gf_pt2pt_request_outer(request), true);
    if (gf_hold_let_go(&request->hold, GF_HOLD_PROGRAM) == GF_HOLD_OURS) {
        gf_pt2pt_request_destroy(request);
    }
}
