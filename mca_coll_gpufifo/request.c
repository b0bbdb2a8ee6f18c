/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of operations that are staged, or that are native as long as nothing is against it.
 *
 *                       inactive ──start──┐
 *   FLYING ──diverted──▶ LOADING ──loaded─┴▶ INNER ──inner complete──▶ STORE ──copies done──▶ complete for the program
 *     └──landed──────────────────────────────────────────────────────────────────────────────────▲
 *
 * A request under way is in the queue's list and belongs to the progress callback; only there does its phase change. The
 * program learns of the end through ompi_request_complete, which is called outside of the lock: it runs callbacks of Open MPI.
 */
#include "mca_coll_gpufifo/request_private.h"

#include "ompi/errhandler/errhandler.h"
#include "opal/class/opal_free_list.h"
#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/flight.h"
#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/stage_pool.h"

struct gf_request_queue {
    pthread_mutex_t lock;              /* guards the list and every request in it */
    opal_list_t active;
    int count;                         /* length of the list; atomic: read without the lock */
    bool registered;                   /* the callback is */
    opal_free_list_t idle;
};

static int progress(void);

static struct gf_request_queue *the_queue(void)
{
    return mca_coll_gpufifo_component.staging->requests;
}

struct gf_request_queue *gf_request_queue_create(void)
{
    struct gf_request_queue *queue = calloc(1, sizeof *queue);

    if (!queue) {
        return NULL;
    }
    OBJ_CONSTRUCT(&queue->active, opal_list_t);
    OBJ_CONSTRUCT(&queue->idle, opal_free_list_t);
    if (opal_free_list_init(&queue->idle, sizeof(gf_stage_request_t), opal_cache_line_size, OBJ_CLASS(gf_stage_request_t),
                            0, opal_cache_line_size, 0, -1, 8, NULL, 0, NULL, NULL, NULL) != OPAL_SUCCESS) {
        OBJ_DESTRUCT(&queue->idle);
        OBJ_DESTRUCT(&queue->active);
        free(queue);
        return NULL;
    }
    pthread_mutex_init(&queue->lock, NULL);
    return queue;
}

void gf_request_queue_destroy(struct gf_request_queue *queue)
{
    if (queue->registered) {
        opal_progress_unregister(progress);
    }
    OBJ_DESTRUCT(&queue->idle);
    OBJ_DESTRUCT(&queue->active);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

void gf_request_enqueue(gf_stage_request_t *request, enum gf_request_phase phase)
{
    struct gf_request_queue *queue = the_queue();

    request->phase = phase;
    gf_hold_set(&request->hold, GF_HOLD_BOTH);
    pthread_mutex_lock(&queue->lock);
    opal_list_append(&queue->active, (opal_list_item_t *)request);
    __atomic_fetch_add(&queue->count, 1, __ATOMIC_RELAXED);
    if (!queue->registered) {
        opal_progress_register(progress);
        queue->registered = true;
    }
    pthread_mutex_unlock(&queue->lock);
}

/* And the communicator that it was given alone: its later messages go over that. */
static void free_inner(gf_stage_request_t *request)
{
    if (request->inner) {
        ompi_request_free(&request->inner);
    }
    request->inner = NULL;
    if (request->flight && request->saved.placed) {
        OBJ_RELEASE(request->saved.placed);
        request->saved.placed = NULL;  /* there may be messages left */
    }
}

void gf_request_give_back(gf_stage_request_t *request)
{
    gf_stage_discard(&request->call);
    free_inner(request);
    if (request->flight && gf_request_outer(request)->req_persistent) {
        gf_request_unbook(request);
    } else {
        gf_flight_free(request->flight);
    }
    free(request->kept[0]);
    free(request->kept[1]);
    OMPI_REQUEST_FINI(gf_request_outer(request));
    gf_mpi_hand_over(request);
    opal_free_list_return(&the_queue()->idle, (opal_free_list_item_t *)request);
}

/* Moves a request on. True when it has ended; its result is in the call then. Does not wait. */
static bool advance(gf_stage_request_t *request)
{
    struct gf_stage_call *call = &request->call;

    if (request->phase < GF_REQUEST_INNER && gf_request_fly(request)) {
        return true;
    }
    if (request->phase < GF_REQUEST_INNER) {
        return false;
    }
    if (request->phase == GF_REQUEST_INNER) {
        if (!REQUEST_COMPLETE(request->inner)) {
            return false;
        }
        opal_atomic_rmb();
        call->result = request->inner->req_status.MPI_ERROR;
        if (call->result != MPI_SUCCESS || !call->staged || !gf_stage_store(call)) {
            return true;
        }
        request->phase = GF_REQUEST_STORE;
    }
    return gf_stage_poll(call);
}

/* Takes all requests that have ended out of the queue. With the lock held. */
static void collect(struct gf_request_queue *queue, opal_list_t *ended)
{
    gf_stage_request_t *request, *next;

    OPAL_LIST_FOREACH_SAFE(request, next, &queue->active, gf_stage_request_t) {
        if (advance(request)) {
            opal_list_remove_item(&queue->active, (opal_list_item_t *)request);
            opal_list_append(ended, (opal_list_item_t *)request);
            __atomic_fetch_sub(&queue->count, 1, __ATOMIC_RELAXED);
        }
    }
}

/* Tells the program. Once we have let go, the request is the program's, and may be gone. */
static void complete(gf_stage_request_t *request)
{
    bool persistent = gf_request_outer(request)->req_persistent;
    ompi_communicator_t *held = request->flight && !persistent ? request->saved.module->comm : NULL;

    if (request->call.staged) {
        gf_stage_settle(&request->call);
    }
    gf_request_outer(request)->req_status.MPI_ERROR = request->call.result;
    if (request->flight || !persistent) {
        gf_stage_discard(&request->call);
        free_inner(request);
    } else if (request->inner->req_state == OMPI_REQUEST_ACTIVE) {
        request->inner->req_state = OMPI_REQUEST_INACTIVE;   /* what a wait on it would have done */
    }
    gf_mpi_hand_over(request);
    ompi_request_complete(gf_request_outer(request), true);
    if (gf_hold_let_go(&request->hold, GF_HOLD_PROGRAM) == GF_HOLD_OURS) {
        gf_request_give_back(request);
    }
    if (held) {
        gf_mpi_release_comm(held);
    }
}

/* Stays registered once it is: Open MPI 4.1 writes one entry past its table when a callback leaves a full one. */
static int progress(void)
{
    struct gf_request_queue *queue = the_queue();
    opal_list_t ended;
    int events = 0;

    if (__atomic_load_n(&queue->count, __ATOMIC_RELAXED) == 0) {
        return 0;
    }
    /* Busy: another thread is here, or this thread is, further up the stack. */
    if (pthread_mutex_trylock(&queue->lock) != 0) {
        return 0;
    }
    OBJ_CONSTRUCT(&ended, opal_list_t);
    collect(queue, &ended);
    pthread_mutex_unlock(&queue->lock);

    opal_list_item_t *item;
    while ((item = opal_list_remove_first(&ended)) != NULL) {
        complete((gf_stage_request_t *)item);
        events++;
    }
    OBJ_DESTRUCT(&ended);
    return events;
}

/* MPI_Request_free, and what MPI_Wait does with a completed request. */
static int request_free(ompi_request_t **request)
{
    gf_stage_request_t *ours = (gf_stage_request_t *)*request;

    *request = MPI_REQUEST_NULL;
    gf_mpi_take_over(ours);
    if (gf_hold_let_go(&ours->hold, GF_HOLD_OURS) == GF_HOLD_PROGRAM) {
        gf_request_give_back(ours);
    }
    return OMPI_SUCCESS;
}

/* A collective cannot be cancelled (MPI-3.1, 5.12). */
static int request_cancel(ompi_request_t *request, int flag)
{
    (void)request;
    (void)flag;
    return MPI_ERR_REQUEST;
}

static int start_inner(ompi_request_t *inner)
{
    if (inner->req_type == OMPI_REQUEST_NOOP) {
        return OMPI_SUCCESS;   /* has no start: it is complete for ever */
    }
    return inner->req_start(1, &inner);
}

static void activate(gf_stage_request_t *request)
{
    ompi_request_t *it = gf_request_outer(request);

    it->req_status.MPI_ERROR = MPI_SUCCESS;
    it->req_complete = REQUEST_PENDING;
    it->req_state = OMPI_REQUEST_ACTIVE;
}

/* MPI_Start does not call the error handler, so a failed start does. */
static int start(gf_stage_request_t *request)
{
    ompi_request_t *it = gf_request_outer(request);
    struct gf_stage_call *call = &request->call;

    gf_hold_await_callback(&request->hold);
    call->result = MPI_SUCCESS;
    if (request->flight) {
        activate(request);
        gf_request_restart(request);
        return MPI_SUCCESS;
    }
    if (gf_stage_load(call)) {
        gf_stage_settle(call);
        activate(request);
        call->result = start_inner(request->inner);
    }
    if (call->result == MPI_SUCCESS) {
        gf_request_enqueue(request, GF_REQUEST_INNER);
        return MPI_SUCCESS;
    }
    gf_stage_settle(call);
    it->req_complete = REQUEST_COMPLETED;
    it->req_state = OMPI_REQUEST_INACTIVE;
    return OMPI_ERRHANDLER_INVOKE(it->req_mpi_object.comm, call->result, "MPI_Start");
}

static int request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; i++) {
        int result = start((gf_stage_request_t *)requests[i]);

        if (result != MPI_SUCCESS) {
            return result;
        }
    }
    return MPI_SUCCESS;
}

static void request_construct(gf_stage_request_t *request)
{
    request->inner = NULL;
    request->flight = NULL;
    request->call = (struct gf_stage_call){0};
    gf_mpi_hand_over(request);
}

OBJ_CLASS_INSTANCE(gf_stage_request_t, ompi_coll_base_nbc_request_t, request_construct, NULL);

bool gf_request_reserve(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function, bool persistent)
{
    gf_stage_request_t *request = (gf_stage_request_t *)opal_free_list_get(&the_queue()->idle);

    if (!request) {
        struct gf_reason why;
        gf_reason_set(&why, "no host memory for a request");
        call->result = gf_error_to_mpi(GF_ERR_NO_MEMORY, &why, comm, function);
        return false;
    }
    gf_mpi_take_over(request);
    ompi_request_t *it = gf_request_outer(request);
    OMPI_REQUEST_INIT(it, persistent);
    it->req_type = GF_MPI_REQUEST_TYPE;
    it->req_mpi_object.comm = comm;
    it->req_status = ompi_status_empty;
    it->req_start = request_start;
    it->req_free = request_free;
    it->req_cancel = request_cancel;
    request->inner = NULL;
    request->flight = NULL;
    request->kept[0] = request->kept[1] = NULL;
    gf_hold_set(&request->hold, GF_HOLD_PROGRAM);
    call->request = request;
    return true;
}

bool gf_request_begin(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function)
{
    if (call->result != MPI_SUCCESS || !gf_stage_needed(call)) {
        return call->result == MPI_SUCCESS;
    }
    if (!gf_stage_begin_staged(call, comm, function)) {
        return false;
    }
    if (!gf_request_reserve(call, comm, function, false)) {
        gf_stage_discard(call);
        return false;
    }
    gf_stage_settle(call);
    return true;
}

bool gf_request_init(struct gf_stage_call *call, ompi_communicator_t *comm, const char *function)
{
    if (!gf_stage_needed(call)) {
        return true;
    }
    if (!gf_stage_prepare(call, comm, function)) {
        return false;
    }
    if (!gf_request_reserve(call, comm, function, true)) {
        gf_stage_discard(call);
        return false;
    }
    return true;
}

int gf_request_return(struct gf_stage_call *call, ompi_request_t **request)
{
    if (!call->staged) {
        return call->result;
    }
    gf_stage_request_t *ours = call->request;
    ours->call = *call;
    if (call->result != MPI_SUCCESS) {
        gf_request_give_back(ours);
        return call->result;
    }
    ours->inner = *request;
    *request = gf_request_outer(ours);
    if (!gf_request_outer(ours)->req_persistent) {
        gf_request_outer(ours)->req_state = OMPI_REQUEST_ACTIVE;
        gf_request_enqueue(ours, GF_REQUEST_INNER);
    }
    return MPI_SUCCESS;
}
