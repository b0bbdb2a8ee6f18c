/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of our point-to-point requests.
 */
#include "mca_coll_gpufifo/pt2pt/request.h"

#include <sched.h>

#include "opal/class/opal_free_list.h"
#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/module.h"

/* A request has two holders while it is active: the program, which frees it by MPI_Request_free or by a wait, and the progress
 * callback, which completes it. Who lets go last gives it back. */
enum hold {
    HOLD_BOTH,
    HOLD_CALLBACK,                     /* freed by the program, still under way */
    HOLD_PROGRAM                       /* the callback is done with it, or it was not started */
};

struct gf_pt2pt_queue {
    pthread_mutex_t lock;              /* guards the list and every request in it */
    opal_list_t active;
    _Atomic int count;                 /* length of the list; read without the lock */
    bool registered;                   /* the callback is */
    opal_free_list_t idle;
};

static int progress(void);

static void request_construct(gf_pt2pt_request_t *request)
{
    request->inner = NULL;
    request->bounce = (struct gf_pt2pt_bounce){0};
}

OBJ_CLASS_INSTANCE(gf_pt2pt_request_t, mca_pml_base_request_t, request_construct, NULL);

static struct gf_pt2pt_queue *the_queue(void)
{
    return mca_coll_gpufifo_component.pt2pt.queue;
}

struct gf_pt2pt_queue *gf_pt2pt_queue_create(void)
{
    struct gf_pt2pt_queue *queue = calloc(1, sizeof *queue);

    if (!queue) {
        return NULL;
    }
    OBJ_CONSTRUCT(&queue->active, opal_list_t);
    OBJ_CONSTRUCT(&queue->idle, opal_free_list_t);
    if (opal_free_list_init(&queue->idle, sizeof(gf_pt2pt_request_t), opal_cache_line_size, OBJ_CLASS(gf_pt2pt_request_t),
                            0, opal_cache_line_size, 0, -1, 8, NULL, 0, NULL, NULL, NULL) != OPAL_SUCCESS) {
        OBJ_DESTRUCT(&queue->idle);
        OBJ_DESTRUCT(&queue->active);
        free(queue);
        return NULL;
    }
    pthread_mutex_init(&queue->lock, NULL);
    return queue;
}

void gf_pt2pt_queue_destroy(struct gf_pt2pt_queue *queue)
{
    if (queue->registered) {
        opal_progress_unregister(progress);
    }
    if (queue->count > 0) {
        return;
    }
    OBJ_DESTRUCT(&queue->idle);
    OBJ_DESTRUCT(&queue->active);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

int gf_pt2pt_queue_active(struct gf_pt2pt_queue *queue)
{
    return queue->count;
}

static int report(gf_pt2pt_request_t *request, gf_status status, const struct gf_reason *why)
{
    return gf_error_to_mpi(status, why, request->super.req_comm, request->function);
}

void gf_pt2pt_request_destroy(gf_pt2pt_request_t *request)
{
    gf_pt2pt_bounce_close(&request->bounce);
    OMPI_REQUEST_FINI(gf_pt2pt_request_outer(request));
    OMPI_DATATYPE_RELEASE(request->super.req_datatype);
    OBJ_RELEASE(request->super.req_comm);
    opal_free_list_return(&the_queue()->idle, (opal_free_list_item_t *)request);
}

/* MPI_Request_free, and what MPI_Wait does with a completed request. */
static int request_free(ompi_request_t **request)
{
    gf_pt2pt_request_t *ours = (gf_pt2pt_request_t *)*request;

    *request = MPI_REQUEST_NULL;
    if (atomic_exchange(&ours->hold, HOLD_CALLBACK) == HOLD_PROGRAM) {
        gf_pt2pt_request_destroy(ours);
    }
    return OMPI_SUCCESS;
}

/* The inner request decides. Once it is complete, the message was received or sent: too late. */
static int request_cancel(ompi_request_t *request, int flag)
{
    gf_pt2pt_request_t *ours = (gf_pt2pt_request_t *)request;
    int result = OMPI_SUCCESS;
    (void)flag;

    pthread_mutex_lock(&the_queue()->lock);
    if (ours->phase == GF_PT2PT_INNER && !REQUEST_COMPLETE(ours->inner)) {
        result = ompi_request_cancel(ours->inner);
    }
    pthread_mutex_unlock(&the_queue()->lock);
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
    request->inner = NULL;
    request->phase = GF_PT2PT_IDLE;
    request->mode = arguments->mode;
    request->function = arguments->function;
    atomic_init(&request->hold, HOLD_PROGRAM);
    OBJ_RETAIN(arguments->comm);
    OMPI_DATATYPE_RETAIN(arguments->type);
}

int gf_pt2pt_request_create(const struct gf_pt2pt_arguments *arguments, gf_pt2pt_request_t **created)
{
    struct gf_reason why = {""};
    gf_pt2pt_request_t *request = (gf_pt2pt_request_t *)opal_free_list_get(&the_queue()->idle);
    gf_status status;
    int result;

    if (!request) {
        gf_reason_set(&why, "no host memory for a request");
        return gf_error_to_mpi(GF_ERR_NO_MEMORY, &why, arguments->comm, arguments->function);
    }
    fill(request, arguments);
    status = gf_pt2pt_bounce_open(&request->bounce, arguments->buffer, arguments->count, arguments->type, &why);
    if (status != GF_OK) {
        result = report(request, status, &why);
        gf_pt2pt_request_destroy(request);
        return result;
    }
    *created = request;
    return MPI_SUCCESS;
}

void gf_pt2pt_request_activate(gf_pt2pt_request_t *request, ompi_request_t *inner)
{
    struct gf_pt2pt_queue *queue = the_queue();
    ompi_request_t *outer = gf_pt2pt_request_outer(request);

    pthread_mutex_lock(&queue->lock);
    request->inner = inner;
    request->phase = GF_PT2PT_INNER;
    atomic_store(&request->hold, HOLD_BOTH);
    outer->req_complete = REQUEST_PENDING;
    outer->req_state = OMPI_REQUEST_ACTIVE;
    opal_list_append(&queue->active, (opal_list_item_t *)request);
    queue->count++;
    if (!queue->registered) {
        opal_progress_register(progress);
        queue->registered = true;
    }
    pthread_mutex_unlock(&queue->lock);
}

/* The status of the outer request, and whether there is data to copy, which is then under way. */
static bool take_result(gf_pt2pt_request_t *request)
{
    ompi_status_public_t *status = &gf_pt2pt_request_outer(request)->req_status;
    struct gf_reason why = {""};
    gf_status copy;

    *status = request->inner->req_status;
    if (gf_pt2pt_request_sends(request) || status->MPI_ERROR != MPI_SUCCESS || status->_cancelled || status->_ucount == 0) {
        return false;
    }
    copy = gf_pt2pt_bounce_store(&request->bounce, status->_ucount, &why);
    if (copy != GF_OK) {
        status->MPI_ERROR = report(request, copy, &why);
    }
    return copy == GF_OK;
}

/* Moves a request on. True when it has ended. */
static bool advance(gf_pt2pt_request_t *request)
{
    struct gf_reason why = {""};
    gf_status copy;

    if (request->phase == GF_PT2PT_INNER) {
        if (!REQUEST_COMPLETE(request->inner)) {
            return false;
        }
        opal_atomic_rmb();
        if (!take_result(request)) {
            return true;
        }
        request->phase = GF_PT2PT_STORE;
    }
    copy = gf_pt2pt_bounce_poll(&request->bounce, &why);
    if (copy < 0) {
        gf_pt2pt_request_outer(request)->req_status.MPI_ERROR = report(request, copy, &why);
    }
    return copy <= 0;
}

/* Takes all requests that have ended out of the queue. With the lock held. */
static void collect(struct gf_pt2pt_queue *queue, opal_list_t *ended)
{
    gf_pt2pt_request_t *request, *next;

    OPAL_LIST_FOREACH_SAFE(request, next, &queue->active, gf_pt2pt_request_t) {
        if (advance(request)) {
            request->phase = GF_PT2PT_IDLE;
            opal_list_remove_item(&queue->active, (opal_list_item_t *)request);
            opal_list_append(ended, (opal_list_item_t *)request);
            queue->count--;
        }
    }
}

/* Tells the program, which may free or start it again from then on. */
static void complete(gf_pt2pt_request_t *request)
{
    struct gf_reason why;

    ompi_request_free(&request->inner);
    request->inner = NULL;
    if (gf_pt2pt_request_outer(request)->req_persistent) {
        gf_pt2pt_bounce_finish(&request->bounce, &why);
    } else {
        gf_pt2pt_bounce_close(&request->bounce);
    }
    ompi_request_complete(gf_pt2pt_request_outer(request), true);
    if (atomic_exchange(&request->hold, HOLD_PROGRAM) == HOLD_CALLBACK) {
        gf_pt2pt_request_destroy(request);
    }
}

/* Stays registered once it is: Open MPI 4.1 writes one entry past its table when a callback leaves a full one. */
static int progress(void)
{
    struct gf_pt2pt_queue *queue = the_queue();
    opal_list_item_t *item;
    opal_list_t ended;
    int events = 0;

    if (!queue || atomic_load_explicit(&queue->count, memory_order_relaxed) == 0) {
        return 0;
    }
    /* Busy: another thread is here, or this thread is, further up the stack. */
    if (pthread_mutex_trylock(&queue->lock) != 0) {
        return 0;
    }
    OBJ_CONSTRUCT(&ended, opal_list_t);
    collect(queue, &ended);
    pthread_mutex_unlock(&queue->lock);
    while ((item = opal_list_remove_first(&ended)) != NULL) {
        complete((gf_pt2pt_request_t *)item);
        events++;
    }
    OBJ_DESTRUCT(&ended);
    return events;
}

void gf_pt2pt_request_await_callback(gf_pt2pt_request_t *request)
{
    while (atomic_load(&request->hold) != HOLD_PROGRAM) {
        sched_yield();
    }
}
