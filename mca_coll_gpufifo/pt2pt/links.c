/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: the carrier, and what goes over it. How they come about is in links_greet.c.
 */
#include "mca_coll_gpufifo/pt2pt/links.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/freed.h"
#include "mca_coll_gpufifo/memory_kind.h"
#include "mca_coll_gpufifo/pt2pt/links_private.h"

struct gf_links *gf_links_create(void)
{
    struct gf_links *links = calloc(1, sizeof *links);

    if (!links) {
        return NULL;
    }
    links->peers = (int)ompi_process_info.num_procs;
    links->of = calloc((size_t)links->peers, sizeof *links->of);
    if (!links->of) {
        free(links);
        return NULL;
    }
    atomic_flag_clear(&links->busy);
    return links;
}

void gf_links_destroy(struct gf_links *links)
{
    if (!links) {
        return;
    }
    atomic_store_explicit(&mca_coll_gpufifo_component.message_net, NULL, memory_order_release);
    gf_carrier_destroy(links->carrier);
    gf_net_destroy(links->net);
    /* Else the PML may still write there. */
    if (links->pending == 0) {
        for (struct gf_link *link = links->first, *next; link; link = next) {
            next = link->next;
            free(link);
        }
        free(links->of);
        free(links);
    }
}

/* By pieces of ours through host memory is slower than by pieces of MPI: 0.7 to 0.8 of their rate over TCP (performance.md). */
static bool is_worth_it(const struct gf_carrier *carrier, struct gf_reason *why)
{
    return mca_coll_gpufifo_component.net_params.messages != GF_MESSAGES_AUTO
        || (gf_carrier_reaches_device(carrier, false, why) && gf_carrier_reaches_device(carrier, true, why));
}

static gf_status make_carrier(struct gf_links *links, int ordinal, struct gf_carrier **carrier, struct gf_reason *why)
{
    const mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    gf_device *device = gf_component_device(ordinal, why);

    if (!device) {
        return GF_ERR_DEVICE;
    }
    links->ordinal = ordinal;
    links->net = gf_component_new_net(device);
    if (!links->net) {
        gf_reason_set(why, "no net could be made");
        return GF_ERR_NO_MEMORY;
    }
    const struct gf_carrier_config config = {.device = device, .net = links->net,
                                             .rank = (int)ompi_process_info.my_name.vpid,
                                             .piece_bytes = component->pipe.chunk_bytes, .fault = &links->fault};
    gf_status status = gf_fault_parse(component->config.fault, ompi_process_info.my_name.vpid, &links->fault, why);

    return status == GF_OK ? gf_carrier_create(&config, carrier, why) : status;
}

/* Registered buffers are given back when the program has freed them. */
static void watch_buffers(struct gf_links *links)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    atomic_store_explicit(&component->message_net, links->net, memory_order_release);
    opal_mutex_lock(&component->lock);
    gf_freed_watch();
    opal_mutex_unlock(&component->lock);
}

static gf_status try_carrier(struct gf_links *links, int ordinal, struct gf_reason *why)
{
    struct gf_carrier *carrier;
    gf_status status = make_carrier(links, ordinal, &carrier, why);

    if (status != GF_OK) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_WARN, "messages between nodes go in chunks over MPI: %s", why->text);
    } else if (is_worth_it(carrier, why)) {
        atomic_store_explicit(&links->carrier, carrier, memory_order_release);
        watch_buffers(links);
    } else {
        gf_carrier_destroy(carrier);
        status = GF_ERR_UNSUPPORTED;
    }
    return status;
}

/* What has failed once is not tried again. */
gf_status gf_links_carrier(struct gf_links *links, int ordinal, struct gf_reason *why)
{
    if (!links->tried) {
        links->failure = try_carrier(links, ordinal, &links->failure_why);
        links->tried = true;
    }
    if (links->failure != GF_OK) {
        *why = links->failure_why;
    }
    return links->failure;
}

struct gf_link *gf_links_of(struct gf_links *links, int peer)
{
    if (peer < 0 || peer >= links->peers) {
        return NULL;
    }
    if (!links->of[peer]) {
        struct gf_link *link = calloc(1, sizeof *link);

        if (!link) {
            return NULL;
        }
        link->peer = peer;
        link->out.requests[0] = link->out.requests[1] = MPI_REQUEST_NULL;
        link->in.requests[0] = link->in.requests[1] = MPI_REQUEST_NULL;
        link->next = links->first;
        links->of[peer] = link;
        atomic_store_explicit(&links->first, link, memory_order_release);
    }
    return links->of[peer];
}

void gf_links_progress(struct gf_links *links)
{
    struct gf_carrier *carrier = atomic_load_explicit(&links->carrier, memory_order_acquire);

    if (carrier) {
        gf_carrier_progress(carrier);
    }
}

/* What the settings of both ends say. */
static bool may_go(size_t bytes, int peer, struct gf_reason *why)
{
    const mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    const struct gf_net_params *params = &component->net_params;
    const struct gf_card *card = gf_card_of(component->pt2pt.cards, &ompi_mpi_comm_world.comm, peer);

    if (bytes < component->pipe.least_bytes || component->config.net == GF_NET_OFF || !card || card->net == GF_NET_OFF) {
        return false;
    }
    if (params->messages == GF_MESSAGES_PML) {
        gf_reason_set(why, "coll_gpufifo_net_messages is pml");
    } else if (params->messages == GF_MESSAGES_AUTO && bytes < params->message_bytes) {
        gf_reason_set(why, "less than coll_gpufifo_net_message_bytes (%zu) bytes", params->message_bytes);
    } else {
        return true;
    }
    return false;
}

static gf_status send_message(struct gf_links *links, struct gf_carrier_lane *lane, const struct gf_carrier_data *data,
                              struct gf_link_offer *offer, struct gf_link_name *name, struct gf_reason *why)
{
    struct gf_carrier_out *message = malloc(sizeof *message);
    gf_status status = GF_ERR_UNSUPPORTED;

    if (!message) {
        gf_reason_set(why, "no host memory for a message");
        return GF_ERR_UNSUPPORTED;
    }
    *name = (struct gf_link_name){.rank = ompi_comm_rank(&ompi_mpi_comm_world.comm), .id = ++links->id};
    status = gf_carrier_send(lane, name->id, data, message, why);
    if (status != GF_OK) {
        free(message);
        return status;
    }
    *offer = (struct gf_link_offer){.lane = lane, .message = message};
    return GF_OK;
}

gf_status gf_links_offer(struct gf_links *links, int ordinal, const void *address, size_t bytes, int peer,
                         struct gf_link_offer *offer, struct gf_link_name *name, bool *greets, struct gf_reason *why)
{
    const struct gf_carrier_data data = {.address = (char *)address, .bytes = bytes, .device = true};
    struct gf_link *link = may_go(bytes, peer, why) ? gf_links_of(links, peer) : NULL;

    *greets = false;
    if (!link) {
        return GF_ERR_UNSUPPORTED;
    }
    switch (atomic_load_explicit(&link->out.state, memory_order_acquire)) {
    case GF_LINK_NONE:
        *greets = true;
        gf_reason_set(why, "the first one to this rank: the next ones go by the network");
        return GF_ERR_UNSUPPORTED;
    case GF_LINK_OPEN:
        if (ordinal == links->ordinal) {
            return send_message(links, link->out.lane, &data, offer, name, why);
        }
        gf_reason_set(why, "the network is used for device %d", links->ordinal);
        return GF_ERR_UNSUPPORTED;
    case GF_LINK_REFUSED:
        *why = link->out.why;
        return GF_ERR_UNSUPPORTED;
    default:
        gf_reason_set(why, "the way by the network is being made");
        return GF_ERR_UNSUPPORTED;
    }
}

gf_status gf_links_offer_poll(const struct gf_link_offer *offer, struct gf_reason *why)
{
    gf_status status = gf_carrier_send_poll(offer->message, why);

    if (status != GF_IN_PROGRESS) {
        free(offer->message);
    }
    return status;
}

void gf_links_offer_withdraw(const struct gf_link_offer *offer)
{
    gf_carrier_send_withdraw(offer->lane, offer->message);
    free(offer->message);
}

void gf_links_greet(struct gf_links *links, int peer, int ordinal)
{
    struct gf_link *link = gf_links_of(links, peer);

    if (link && link->out.state == GF_LINK_NONE) {
        gf_links_begin(links, &link->out, ordinal);
    }
}

void gf_links_expect(struct gf_links *links, int peer, int ordinal)
{
    struct gf_link *link = gf_links_of(links, peer);

    if (link && link->in.state == GF_LINK_NONE) {
        gf_links_begin(links, &link->in, ordinal);
    }
}

struct gf_carrier_lane *gf_links_from(struct gf_links *links, int peer)
{
    struct gf_link *link = gf_links_of(links, peer);
    int state = link ? atomic_load_explicit(&link->in.state, memory_order_acquire) : GF_LINK_NONE;

    return state == GF_LINK_ANSWERED || state == GF_LINK_OPEN ? link->in.lane : NULL;
}

gf_status gf_links_take(struct gf_links *links, struct gf_carrier_lane *lane, uint64_t id, int ordinal, void *to, size_t bytes,
                        struct gf_carrier_in *message, struct gf_reason *why)
{
    struct gf_pointer info;
    struct gf_carrier_data data = {.address = to, .bytes = bytes};
    gf_status status = bytes > 0 ? gf_memory_query(to, &info, why) : GF_OK;

    data.device = bytes > 0 && status == GF_OK && info.kind != GF_MEMORY_HOST && info.kind != GF_MEMORY_PINNED;
    if (data.device && ordinal != links->ordinal) {
        gf_reason_set(why, "the network is used for device %d", links->ordinal);
        status = GF_ERR_UNSUPPORTED;
    } else if (status == GF_OK) {
        status = gf_carrier_receive(lane, id, &data, message, why);
    }
    if (status != GF_OK && status != GF_ERR_PEER) {
        gf_carrier_refuse(lane, id, status == GF_ERR_UNSUPPORTED);
    }
    return status;
}
