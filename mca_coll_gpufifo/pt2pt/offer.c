/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choosing between the two ways of a send: offered to the receiver, or staged.
 */
#include "mca_coll_gpufifo/pt2pt/offer.h"

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"

/* What an MPI program decides. */
static bool may_be_fetched(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    if (request->mode == MCA_PML_BASE_SEND_BUFFERED) {
        gf_reason_set(why, "a buffered send copies its data first");
    } else if (!gf_pt2pt_bounce_run(&request->bounce)) {
        gf_reason_set(why, "its datatype has gaps");
    } else if (!pt2pt->near || !gf_card_of(pt2pt->cards, request->super.req_comm, request->super.req_peer)) {
        gf_reason_set(why, "rank %d does not fetch messages from here: another node or job, or no device or no gpufifo there",
                      request->super.req_peer);
    } else {
        return true;
    }
    return false;
}

static gf_status make_offer(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    const struct gf_pt2pt_bounce *bounce = &request->bounce;
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();
    struct gf_offer_name name;
    gf_status status;

    if (!may_be_fetched(request, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    if (!gf_memory_holds(&bounce->where, gf_pt2pt_bounce_run(bounce), bounce->bytes, why)) {
        return GF_ERR_INVALID;
    }
    pthread_mutex_lock(&queue->lock);
    status = gf_rendezvous_offer(queue->rendezvous, &bounce->where, gf_pt2pt_bounce_run(bounce), bounce->bytes,
                                 request->mode != MCA_PML_BASE_SEND_SYNCHRONOUS, &request->offering, &name, why);
    pthread_mutex_unlock(&queue->lock);
    if (status == GF_NO_RESOURCE) {
        gf_reason_set(why, "%d other messages of this process wait for their receivers", GF_OFFERS);
        return GF_ERR_UNSUPPORTED;
    }
    if (status == GF_OK) {
        gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_PT2PT_PULLED, bounce->bytes);
        gf_rts_write((struct gf_rts *)request->head, bounce->bytes, &name);
    }
    return status;
}

/* The first message of each path is worth a line of its own. */
static void tell(const gf_pt2pt_request_t *request, gf_status status, const struct gf_reason *why)
{
    const struct gf_log *log = &mca_coll_gpufifo_component.log;
    const mca_pml_base_request_t *base = &request->super;
    unsigned bit = status == GF_OK ? 1 : 2;
    enum gf_log_level level = GF_LOG_CALL;

    if (!gf_log_shows(log, GF_LOG_PATH)) {
        return;
    }
    if ((atomic_fetch_or(&mca_coll_gpufifo_component.pt2pt.told, bit) & bit) == 0) {
        level = GF_LOG_PATH;
    }
    if (status == GF_OK) {
        gf_log(log, level, "%s: %s, %zu bytes to rank %d: offered, the receiver fetches them from this buffer",
               base->req_comm->c_name, request->function, request->bytes, base->req_peer);
    } else {
        gf_log(log, level, "%s: %s, %zu bytes to rank %d: staged through host memory: %s", base->req_comm->c_name,
               request->function, request->bytes, base->req_peer, why->text);
    }
}

gf_status gf_pt2pt_offer(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    gf_status status = request->super.req_ompi.req_persistent ? gf_pt2pt_bounce_renew(&request->bounce, why) : GF_OK;

    if (status == GF_OK) {
        status = make_offer(request, why);
    }
    if (status == GF_OK || status == GF_ERR_UNSUPPORTED) {
        tell(request, status, why);
    }
    return status;
}

void gf_pt2pt_offer_withdraw(gf_pt2pt_request_t *request)
{
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();

    pthread_mutex_lock(&queue->lock);
    gf_offer_withdraw(request->offering.board, request->offering.index);
    pthread_mutex_unlock(&queue->lock);
}
