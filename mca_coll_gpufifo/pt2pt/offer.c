/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choosing the way of a send: offered to the receiver, in place or in pieces, or staged.
 */
#include "mca_coll_gpufifo/pt2pt/offer.h"

#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/nodes.h"
#include "mca_coll_gpufifo/pt2pt/queue.h"
#include "mca_coll_gpufifo/pt2pt/tell.h"

/* What an MPI program decides. */
static bool may_be_fetched(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    struct gf_pt2pt *pt2pt = &mca_coll_gpufifo_component.pt2pt;

    if (request->mode == MCA_PML_BASE_SEND_BUFFERED) {
        gf_reason_set(why, "a buffered send copies its data first");
    } else if (!pt2pt->near) {
        gf_reason_set(why, "this process has no peer in its job that fetches messages");
    } else if (!gf_card_of(pt2pt->cards, request->super.req_comm, request->super.req_peer)) {
        gf_reason_set(why, "rank %d does not fetch messages from here: another job, or no device or no gpufifo there",
                      request->super.req_peer);
    } else {
        return true;
    }
    return false;
}

/* The ways to a process with which we share memory. With the queue's lock held. */
static gf_status choose_near(gf_pt2pt_request_t *request, int peer, struct gf_rts *rts, struct gf_reason *why)
{
    struct gf_rendezvous *rendezvous = gf_pt2pt_queue_get()->rendezvous;
    const struct gf_pt2pt_bounce *bounce = &request->bounce;
    const struct gf_pointer *where;
    const char *run = gf_pt2pt_bounce_source(bounce, &where);
    struct gf_offer_name name = {.index = 0};
    gf_status status = gf_rendezvous_offer(rendezvous, where, run, bounce->bytes,
                                           request->mode != MCA_PML_BASE_SEND_SYNCHRONOUS, peer, &request->offering, &name, why);

    rts->kind = GF_RTS_OFFER;
    if (status == GF_ERR_UNSUPPORTED) {
        status = gf_rendezvous_offer_piped(rendezvous, where, run, bounce->bytes, &request->offering, &name, why);
        rts->kind = GF_RTS_PIPE;
    }
    rts->offer = name;
    return status;
}

/* The ways to any other. With the queue's lock held. */
static gf_status choose_far(gf_pt2pt_request_t *request, int peer, struct gf_rts *rts, struct gf_reason *why)
{
    struct gf_rendezvous *rendezvous = gf_pt2pt_queue_get()->rendezvous;
    const struct gf_pt2pt_bounce *bounce = &request->bounce;
    const struct gf_pointer *where;
    const char *run = gf_pt2pt_bounce_source(bounce, &where);
    struct gf_chunks_name name = {.rank = 0};
    struct gf_link_name link = {.rank = 0};
    bool greets;
    /* As ordinary data it would be complete as soon as a probe looks at it. */
    bool must = request->mode == MCA_PML_BASE_SEND_SYNCHRONOUS && bounce->bytes == GF_RTS_BYTES;

    request->offering = (struct gf_offering){.index = 0};
    gf_status status = gf_links_offer(gf_rendezvous_links(rendezvous), where->ordinal, run, bounce->bytes, peer,
                                      &request->offering.link, &link, &greets, why);

    rts->kind = GF_RTS_WIRE;
    rts->link = link;
    if (status == GF_ERR_UNSUPPORTED) {
        status = gf_rendezvous_offer_chunks(rendezvous, where, run, bounce->bytes, must, peer, &request->offering, &name, why);
        rts->kind = GF_RTS_CHUNKS;
        rts->chunks = name;
        rts->greets = greets && status == GF_OK;
    }
    if (rts->greets) {
        gf_links_greet(gf_rendezvous_links(rendezvous), peer, where->ordinal);
    }
    return status;
}

/* All ways, best first. With the queue's lock held. */
static gf_status choose(gf_pt2pt_request_t *request, struct gf_rts *rts, struct gf_reason *why)
{
    int peer = gf_mpi_world_rank(ompi_comm_peer_lookup(request->super.req_comm, request->super.req_peer));
    gf_status status = GF_ERR_UNSUPPORTED;

    if (gf_node_is_ours(request->super.req_comm, request->super.req_peer) &&
        gf_card_shares_memory(mca_coll_gpufifo_component.pt2pt.cards, request->super.req_comm, request->super.req_peer, why)) {
        status = choose_near(request, peer, rts, why);
    }
    return status == GF_ERR_UNSUPPORTED ? choose_far(request, peer, rts, why) : status;
}

/* The buffer must be long enough for data without gaps. Others are packed, and that has ended when their copy is offered. */
static gf_status make_ready(struct gf_pt2pt_bounce *bounce, struct gf_reason *why)
{
    const char *run = gf_pt2pt_bounce_run(bounce);
    gf_status status;

    if (run) {
        return gf_memory_holds(&bounce->where, run, bounce->bytes, why) ? GF_OK : GF_ERR_INVALID;
    }
    status = gf_pt2pt_bounce_near(bounce, bounce->bytes, why);
    if (status == GF_OK) {
        status = gf_pt2pt_bounce_load(bounce, why);
    }
    if (status == GF_OK) {
        gf_reason_set(why, "its datatype has gaps, so they were packed on the device first");
    }
    return status == GF_ERR_NO_MEMORY ? GF_ERR_UNSUPPORTED : status;
}

static gf_status make_offer(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    struct gf_pt2pt_bounce *bounce = &request->bounce;
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();
    struct gf_rts *rts = (struct gf_rts *)request->head;
    gf_status status;

    if (!may_be_fetched(request, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    status = make_ready(bounce, why);
    if (status != GF_OK) {
        return status;
    }
    gf_rts_begin(rts, bounce->bytes);
    gf_pt2pt_queue_lock(queue);
    status = choose(request, rts, why);
    gf_pt2pt_queue_unlock(queue);
    if (status == GF_OK) {
        gf_pvars_count(&mca_coll_gpufifo_component.pvars, gf_rts_path((enum gf_rts_kind)rts->kind), bounce->bytes);
    }
    return status;
}

gf_status gf_pt2pt_offer(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    gf_status status = request->super.req_ompi.req_persistent ? gf_pt2pt_bounce_renew(&request->bounce, why) : GF_OK;

    if (status == GF_OK) {
        status = make_offer(request, why);
    }
    if (status == GF_OK) {
        gf_pt2pt_tell_offered(request, why);
    } else if (status == GF_ERR_UNSUPPORTED || status == GF_NO_RESOURCE) {
        gf_pt2pt_tell_staged(request, why);
    }
    return status;
}

gf_status gf_pt2pt_offer_again(gf_pt2pt_request_t *request, struct gf_reason *why)
{
    const ompi_proc_t *peer = ompi_comm_peer_lookup(request->super.req_comm, request->super.req_peer);
    const struct gf_pt2pt_bounce *bounce = &request->bounce;
    const struct gf_pointer *where;
    const char *run = gf_pt2pt_bounce_source(bounce, &where);
    struct gf_rts again = gf_rts_in_chunks((const struct gf_rts *)request->head, ompi_comm_rank(&ompi_mpi_comm_world.comm));
    struct gf_chunks_name name = again.chunks;

    if (mca_coll_gpufifo_component.config.strict) {
        return GF_ERR_UNSUPPORTED;
    }
    return gf_rendezvous_offer_again(gf_pt2pt_queue_get()->rendezvous, where, run, bounce->bytes, gf_mpi_world_rank(peer),
                                     name.id, &request->offering, why);
}

void gf_pt2pt_offer_withdraw(gf_pt2pt_request_t *request)
{
    struct gf_pt2pt_queue *queue = gf_pt2pt_queue_get();

    gf_pt2pt_queue_lock(queue);
    gf_offering_withdraw(&request->offering);
    gf_pt2pt_queue_unlock(queue);
}
