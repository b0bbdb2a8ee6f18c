/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that the progress callback moves on, requests to reuse, and the lock that guards them and the rendezvous. One a
 * process, any thread.
 */
#ifndef GF_MCA_PT2PT_QUEUE_H
#define GF_MCA_PT2PT_QUEUE_H

#include "opal/class/opal_free_list.h"

#include "mca_coll_gpufifo/pt2pt/request.h"

struct gf_pt2pt_queue {
    pthread_mutex_t lock;              /* guards list, rendezvous, and every request in the list */
    opal_list_t active;                /* requests that need progress */
    _Atomic int count;                 /* of device requests under way, in the list or not, and of the others in the list */
    bool registered;                   /* the callback is */
    _Atomic uint64_t prepared;         /* bits by a device's ordinal */
    struct gf_rendezvous *rendezvous;
    opal_free_list_t idle;             /* requests to reuse */
    opal_free_list_t receives;         /* host_receive.c's records to reuse */
};

/* Null: no host memory. */
struct gf_pt2pt_queue *gf_pt2pt_queue_create(void);
/* Waits a while for what is still under way; the PML is there. */
void gf_pt2pt_queue_settle(struct gf_pt2pt_queue *queue);
/* No progress any more, no offers and no pulls; requests may still be freed. Those still under way are left as they are: the
 * PML may still write to their memory. */
void gf_pt2pt_queue_close(struct gf_pt2pt_queue *queue);
/* Accepts null. */
void gf_pt2pt_queue_destroy(struct gf_pt2pt_queue *queue);

/* With one thread there is nobody to keep out; nothing under the lock calls into MPI. */
static inline void gf_pt2pt_queue_lock(struct gf_pt2pt_queue *queue)
{
    if (OPAL_UNLIKELY(opal_using_threads())) {
        pthread_mutex_lock(&queue->lock);
    }
}

static inline void gf_pt2pt_queue_unlock(struct gf_pt2pt_queue *queue)
{
    if (OPAL_UNLIKELY(opal_using_threads())) {
        pthread_mutex_unlock(&queue->lock);
    }
}

static inline struct gf_pt2pt_queue *gf_pt2pt_queue_get(void) { return mca_coll_gpufifo_component.pt2pt.queue; }

/* Is there work for the callback, now or soon? Then who blocks must make progress often. */
static inline bool gf_pt2pt_queue_busy(const struct gf_pt2pt_queue *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_relaxed) > 0;
}

/* The program has a buffer on this device: what offers and pulls need of it is made now, for it may wait for what the device
 * does. */
void gf_pt2pt_queue_prepare(struct gf_pt2pt_queue *queue, int ordinal);

/* A request counts until the callback ends it: from here on, though the callback has not got it yet. */
void gf_pt2pt_queue_expect(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request);

/* From here on the request is the callback's, which is there from the first one on. */
void gf_pt2pt_queue_add(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request);

/* The progress callback: moves on what can be moved, never waits. The number of requests that ended. */
int gf_pt2pt_queue_progress(void);

/* For an active receive that was not posted: its message, as gf_pt2pt_request_arrive has it. The request completes now or
 * later. */
void gf_pt2pt_queue_deliver(struct gf_pt2pt_queue *queue, gf_pt2pt_request_t *request, const ompi_status_public_t *status,
                            const void *data);

#endif
