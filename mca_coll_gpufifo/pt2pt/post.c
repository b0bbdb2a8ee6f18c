/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posting our requests to the PML, be it the only time or one start of many.
 */
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/offer.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"
#include "mca_coll_gpufifo/pt2pt/stash.h"

/* The message of a receive is there, with one thread: ordinary data in host memory end it here, the rest is the progress
 * callback's. */
static void landed(gf_pt2pt_request_t *request)
{
    const ompi_status_public_t *status = &request->inner->req_status;

    if (request->device || OPAL_UNLIKELY(status->_ucount == GF_RTS_BYTES)) {
        gf_pt2pt_queue_add(gf_pt2pt_queue_get(), request);
        return;
    }
    if (request->bytes < GF_RTS_BYTES) {
        gf_pt2pt_request_arrive(request, status, NULL);
    } else {                           /* the data are where they belong */
        gf_pt2pt_request_outer(request)->req_status = *status;
    }
    request->phase = GF_PT2PT_IDLE;
    gf_pt2pt_request_complete(request);
}

/* Called by Open MPI when the inner receive completes. Returns 1: the inner request may be gone, or in use again. The PML's
 * pool must get it back without our mark. */
static int inner_completed(ompi_request_t *inner)
{
    gf_pt2pt_request_t *request = inner->req_complete_cb_data;

    inner->req_complete_cb_data = NULL;
    inner->req_complete = REQUEST_COMPLETED;
    landed(request);
    return 1;
}

/* The inner request was posted. With threads, a callback could come before we have set it: the list is looked through instead. */
static void watch(gf_pt2pt_request_t *request, enum gf_pt2pt_phase phase)
{
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();

    request->phase = phase;
    gf_pt2pt_request_begin(request);
    if (OPAL_UNLIKELY(opal_using_threads() || gf_pt2pt_request_sends(request))) {
        gf_pt2pt_queue_add(queue, request);
        return;
    }
    if (request->device) {
        gf_pt2pt_queue_expect(queue, request);
    }
    if (REQUEST_COMPLETE(request->inner)) {
        landed(request);
    } else {
        request->inner->req_complete_cb_data = request;
        request->inner->req_complete_cb = inner_completed;
    }
}

static int send_bytes(gf_pt2pt_request_t *request, const void *data, size_t bytes, mca_pml_base_send_mode_t mode)
{
    const mca_pml_base_request_t *base = &request->super;

    return gf_pt2pt_saved()->pml_isend(data, bytes, MPI_PACKED, base->req_peer, base->req_tag, mode, base->req_comm,
                                       &request->inner);
}

/* The receiver's fetching implies the match that a synchronous send waits for. */
static int post_rts(gf_pt2pt_request_t *request)
{
    mca_pml_base_send_mode_t mode = request->mode == MCA_PML_BASE_SEND_SYNCHRONOUS ? MCA_PML_BASE_SEND_STANDARD : request->mode;
    int result = send_bytes(request, request->head, GF_RTS_BYTES, mode);

    if (result == MPI_SUCCESS) {
        watch(request, GF_PT2PT_OFFERED);
    } else {
        gf_pt2pt_offer_withdraw(request);
    }
    return result;
}

static int post_staged(gf_pt2pt_request_t *request)
{
    struct gf_pt2pt_bounce *bounce = &request->bounce;
    struct gf_reason why = {""};
    gf_status status = gf_pt2pt_bounce_pin(bounce, bounce->bytes, &why);
    int result;

    if (status == GF_OK) {
        status = gf_pt2pt_bounce_load(bounce, &why);
    }
    if (status != GF_OK) {
        return gf_pt2pt_request_report(request, status, &why);
    }
    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_PT2PT_STAGED, bounce->bytes);
    result = send_bytes(request, bounce->memory, bounce->bytes, request->mode);
    if (result == MPI_SUCCESS) {
        watch(request, GF_PT2PT_INNER);
    }
    return result;
}

static int post_send(gf_pt2pt_request_t *request)
{
    struct gf_reason why;
    gf_status status;

    why.text[0] = '\0';
    status = gf_pt2pt_offer(request, &why);
    if (status == GF_OK) {
        return post_rts(request);
    }
    /* A burst is no path that strict could ask to mend. */
    if (status == GF_NO_RESOURCE || (status == GF_ERR_UNSUPPORTED && !mca_coll_gpufifo_component.config.strict)) {
        return post_staged(request);
    }
    return gf_pt2pt_request_report(request, status, &why);
}

/* Where the PML may put the message: *data, *count, *type. Whatever comes, an RTS must fit. */
static gf_status find_landing(gf_pt2pt_request_t *request, void **data, size_t *count, ompi_datatype_t **type,
                              struct gf_reason *why)
{
    struct gf_host_data host = gf_pt2pt_request_host_data(request);
    gf_status status;

    *count = request->bytes < GF_RTS_BYTES ? GF_RTS_BYTES : request->bytes;
    *type = MPI_PACKED;
    if (OPAL_UNLIKELY(request->device)) {
        status = gf_pt2pt_bounce_land(&request->bounce, *count, why);
        *data = request->bounce.memory;
        return status;
    }
    *data = request->head;
    if (request->bytes >= GF_RTS_BYTES) {
        request->kept = gf_host_data_head(&host, request->head);
        *data = host.buffer;
        *count = host.count;
        *type = host.type;
    }
    return GF_OK;
}

/* A message that was looked at brings its bytes. */
static int take_looked_at(gf_pt2pt_request_t *request, struct ompi_message_t **message)
{
    gf_pt2pt_message_t *ours = (gf_pt2pt_message_t *)*message;

    *message = MPI_MESSAGE_NULL;
    gf_pt2pt_message_await(ours);
    gf_pt2pt_request_begin(request);
    gf_pt2pt_queue_deliver(gf_pt2pt_queue_get(), request, &ours->status, ours->bytes);
    gf_pt2pt_message_release(ours);
    return MPI_SUCCESS;
}

/* One of the PML's, be it matched already or not. */
static int post_to_pml(gf_pt2pt_request_t *request, struct ompi_message_t **message)
{
    const mca_pml_base_request_t *base = &request->super;
    struct gf_reason why;
    ompi_datatype_t *type;
    gf_status status;
    size_t count;
    void *data;

    why.text[0] = '\0';
    status = find_landing(request, &data, &count, &type, &why);
    if (OPAL_UNLIKELY(status != GF_OK)) {
        return gf_pt2pt_request_report(request, status, &why);
    }
    if (message) {
        return gf_pt2pt_saved()->pml_imrecv(data, count, type, message, &request->inner);
    }
    return gf_pt2pt_saved()->pml_irecv(data, count, type, base->req_peer, base->req_tag, base->req_comm, &request->inner);
}

static int post_matched(gf_pt2pt_request_t *request, struct ompi_message_t **message)
{
    int result;

    if (gf_pt2pt_message_is_ours(*message)) {
        return take_looked_at(request, message);
    }
    result = post_to_pml(request, message);
    if (result == MPI_SUCCESS) {
        watch(request, GF_PT2PT_INNER);
    }
    return result;
}

/* What a probe took out of the PML comes first. */
static int post_receive(gf_pt2pt_request_t *request)
{
    const mca_pml_base_request_t *base = &request->super;
    struct ompi_message_t *message = gf_stash_enter(base->req_comm, base->req_peer, base->req_tag);
    int result;

    if (message) {
        return post_matched(request, &message);
    }
    result = post_to_pml(request, NULL);
    gf_stash_leave(base->req_comm);
    if (result == MPI_SUCCESS) {
        watch(request, GF_PT2PT_INNER);
    }
    return result;
}

/* Of the last start, if there was one. */
static void free_inner(gf_pt2pt_request_t *request)
{
    if (request->inner) {
        ompi_request_free(&request->inner);
        request->inner = NULL;
    }
}

int gf_pt2pt_request_post(gf_pt2pt_request_t *request)
{
    free_inner(request);
    return gf_pt2pt_request_sends(request) ? post_send(request) : post_receive(request);
}

int gf_pt2pt_request_post_matched(gf_pt2pt_request_t *request, struct ompi_message_t **message)
{
    return post_matched(request, message);
}

int gf_pt2pt_request_new(const struct gf_pt2pt_arguments *arguments, ompi_request_t **request)
{
    gf_pt2pt_request_t *ours;
    int result = gf_pt2pt_request_create(arguments, &ours);

    if (result != MPI_SUCCESS) {
        return result;
    }
    if (!arguments->persistent) {
        result = gf_pt2pt_request_post(ours);
        if (result != MPI_SUCCESS) {
            gf_pt2pt_request_destroy(ours);
            return result;
        }
    }
    *request = gf_pt2pt_request_outer(ours);
    return MPI_SUCCESS;
}
