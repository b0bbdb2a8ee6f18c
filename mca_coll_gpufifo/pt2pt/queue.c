/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress of our point-to-point requests.
 */
#include "mca_coll_gpufifo/pt2pt/queue.h"

#include "mca_coll_gpufifo/pt2pt/host_receive.h"
#include "mca_coll_gpufifo/pt2pt/offer.h"

#include "opal/runtime/opal_progress.h"

/* A turn of MPI's progress takes some hundred nanoseconds, in which the end of a message on the device would go unnoticed:
 * where few are waited for, each turn looks so often. */
enum { LOOKS = 8, FEW = 4 };
enum { SETTLE_ROUNDS = 1000 };         /* MPI_Finalize must not hang on a request that nobody will complete */

struct gf_pt2pt_queue *gf_pt2pt_queue_create(void)
{
    struct gf_pt2pt_queue *queue = calloc(1, sizeof *queue);
    bool receives;

    if (!queue) {
        return NULL;
    }
    queue->rendezvous = gf_rendezvous_create();
    OBJ_CONSTRUCT(&queue->active, opal_list_t);
    OBJ_CONSTRUCT(&queue->idle, opal_free_list_t);
    pthread_mutex_init(&queue->lock, NULL);
    receives = gf_host_receives_construct(&queue->receives);
    if (!queue->rendezvous || !receives ||
        opal_free_list_init(&queue->idle, sizeof(gf_pt2pt_request_t), opal_cache_line_size, OBJ_CLASS(gf_pt2pt_request_t),
                            0, opal_cache_line_size, 0, -1, 8, NULL, 0, NULL, NULL, NULL) != OPAL_SUCCESS) {
        gf_pt2pt_queue_destroy(queue);
        return NULL;
    }
    return queue;
}

void gf_pt2pt_queue_settle(struct gf_pt2pt_queue *queue)
{
    for (int round = 0; round < SETTLE_ROUNDS && gf_pt2pt_queue_busy(queue); round++) {
        opal_progress();
    }
    if (queue->rendezvous) {
        gf_links_settle(gf_rendezvous_links(queue->rendezvous));
    }
}

void gf_pt2pt_queue_close(struct gf_pt2pt_queue *queue)
{
    if (queue->registered) {
        opal_progress_unregister(gf_pt2pt_queue_progress);
        queue->registered = false;
    }
    if (!gf_pt2pt_queue_busy(queue)) {
        gf_rendezvous_destroy(queue->rendezvous);
        queue->rendezvous = NULL;
    }
}

void gf_pt2pt_queue_destroy(struct gf_pt2pt_queue *queue)
{
    if (!queue || gf_pt2pt_queue_busy(queue)) {
        return;
    }
    gf_pt2pt_queue_close(queue);
    OBJ_DESTRUCT(&queue->receives);
    OBJ_DESTRUCT(&queue->idle);
    OBJ_DESTRUCT(&queue->active);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

_Static_assert(GF_MAX_DEVICES <= 64, "prepared has a bit a device");

/* What fails here fails again, and is said, when it is needed. */
void gf_pt2pt_queue_prepare(struct gf_pt2pt_queue *queue, int ordinal)
{
    uint64_t bit = 1ull << ordinal;

    if (!mca_coll_gpufifo_component.pt2pt.near || (atomic_load_explicit(&queue->prepared, memory_order_relaxed) & bit)) {
        return;
    }
    gf_pt2pt_queue_lock(queue);
    gf_rendezvous_prepare(queue->rendezvous, ordinal);
    queue->prepared |= bit;
    gf_pt2pt_queue_unlock(queue);
}

/* With the lock held: nobody else writes, and who reads needs no more than the number. */
static void add_to_count(struct gf_pt2pt_queue *queue, int change)
{
    int count = atomic_load_explicit(&queue->count, memory_order_relaxed);

    atomic_store_explicit(&queue->count, count + change, memory_order_relaxed);
}

/* With the lock held. */
static void count_one(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request)
{
    if (!request->counted) {
        request->counted = true;
        add_to_count(queue, 1);
    }
    if (!queue->registered) {
        opal_progress_register(gf_pt2pt_queue_progress);
        queue->registered = true;
    }
}

void gf_pt2pt_queue_expect(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request)
{
    gf_pt2pt_queue_lock(queue);
    count_one(queue, request);
    gf_pt2pt_queue_unlock(queue);
}

/* With the lock held. */
static void add(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request)
{
    opal_list_append(&queue->active, (opal_list_item_t *)request);
    count_one(queue, request);
}

void gf_pt2pt_queue_add(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request)
{
    gf_pt2pt_queue_lock(queue);
    add(queue, request);
    gf_pt2pt_queue_unlock(queue);
}

/* Without its RTS nobody will come for an offer. */
static gf_status offer_end(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    const struct gf_offering *offering = &request->offering;

    if (request->inner->req_status.MPI_ERROR != MPI_SUCCESS && gf_offering_withdraw(offering) == GF_OK) {
        return GF_OK;
    }
    gf_fault_pass(mca_coll_gpufifo_component.config.stages, GF_FAULT_OFFERED);
    return gf_offering_poll(offering, why);
}

/* Both ends watch the offer. */
static bool offer_on(gf_pt2pt_request_t *request)
{
    ompi_status_public_t *status = &gf_pt2pt_request_outer(request)->req_status;
    struct gf_reason why;
    gf_status end;

    why.text[0] = '\0';
    if (!REQUEST_COMPLETE(request->inner)) {
        return false;
    }
    opal_atomic_rmb();
    end = offer_end(request, &why);
    if (end == GF_ERR_UNSUPPORTED && !request->offering.chunks) {
        end = gf_pt2pt_offer_again(request, &why);
        if (end == GF_OK) {
            return false;
        }
    }
    if (end == GF_IN_PROGRESS) {
        return false;
    }
    *status = request->inner->req_status;
    if (end != GF_OK) {
        status->MPI_ERROR = gf_pt2pt_request_report(request, end, &why);
    }
    return true;
}

static bool inner_on(gf_pt2pt_request_t *request)
{
    if (!REQUEST_COMPLETE(request->inner)) {
        return false;
    }
    opal_atomic_rmb();
    if (gf_pt2pt_request_sends(request)) {
        gf_pt2pt_request_outer(request)->req_status = request->inner->req_status;
        return true;
    }
    return gf_pt2pt_request_arrive(request, &request->inner->req_status, NULL);
}

/* Moves a request on. True when it has ended. */
static bool advance(gf_pt2pt_request_t *request)
{
    switch (request->phase) {
    case GF_PT2PT_INNER:
        return inner_on(request);
    case GF_PT2PT_CAME:
        return gf_pt2pt_request_arrive(request, &gf_pt2pt_request_outer(request)->req_status, NULL);
    case GF_PT2PT_OFFERED:
        return offer_on(request);
    case GF_PT2PT_PULL:
        return gf_pt2pt_request_pull_on(request);
    case GF_PT2PT_STORE:
        return gf_pt2pt_request_store_on(request);
    default:
        return true;
    }
}

/* Takes all requests that have ended out of the queue. The number of those that wait for the device. With the lock held. */
static int collect(struct gf_pt2pt_queue *queue, opal_list_t *ended)
{
    gf_pt2pt_request_t *request, *next;
    int waiting = 0;

    OPAL_LIST_FOREACH_SAFE(request, next, &queue->active, gf_pt2pt_request_t) {
        if (advance(request)) {
            request->phase = GF_PT2PT_IDLE;
            request->counted = false;
            opal_list_remove_item(&queue->active, (opal_list_item_t *)request);
            opal_list_append(ended, (opal_list_item_t *)request);
            add_to_count(queue, -1);
        } else {
            waiting += request->phase != GF_PT2PT_INNER;
        }
    }
    return waiting;
}

void gf_pt2pt_queue_deliver(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request, const ompi_status_public_t *status,
                            const void *data)
{
    bool ended;

    gf_pt2pt_queue_lock(queue);
    ended = gf_pt2pt_request_arrive(request, status, data);
    if (!ended) {
        add(queue, request);
        gf_rendezvous_progress(queue->rendezvous);
    }
    gf_pt2pt_queue_unlock(queue);
    if (ended) {
        request->phase = GF_PT2PT_IDLE;
        gf_pt2pt_request_complete(request);
    }
}

/* Stays registered once it is: Open MPI 4.1 writes one entry past its table when a callback leaves a full one. */
int gf_pt2pt_queue_progress(void)
{
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();
    opal_list_item_t *item;
    opal_list_t ended;
    int events = 0;

    if (!queue) {
        return 0;
    }
    if (queue->rendezvous) {
        gf_chunks_exchange(gf_rendezvous_chunks(queue->rendezvous));
        gf_links_exchange(gf_rendezvous_links(queue->rendezvous));
    }
    if (!gf_pt2pt_queue_busy(queue) && !(queue->rendezvous && gf_rendezvous_trails(queue->rendezvous))) {
        return 0;
    }
    /* Busy: another thread is here. */
    if (opal_using_threads() && pthread_mutex_trylock(&queue->lock) != 0) {
        return 0;
    }
    OBJ_CONSTRUCT(&ended, opal_list_t);
    for (int looks = 0; looks < LOOKS; looks++) {
        int waiting = collect(queue, &ended);

        gf_rendezvous_progress(queue->rendezvous);
        if (waiting == 0 || waiting > FEW || !opal_list_is_empty(&ended)) {
            break;
        }
    }
    gf_pt2pt_queue_unlock(queue);
    while ((item = opal_list_remove_first(&ended)) != NULL) {
        gf_pt2pt_request_complete((gf_pt2pt_request_t *)item);
        events++;
    }
    OBJ_DESTRUCT(&ended);
    return events;
}
