/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One queue pair. Its sends end in the order in which they were posted, so the end of a signalled one is also that of all before.
 */
#include "transport/verbs_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/random.h>

enum {
    MAGIC = 0x67667662,            /* "gfvb" */
    VERSION = 1,
    LAST_PAIR = 0xffffff,          /* numbers of queue pairs and packets have 24 bits */
    MINIMUM_RNR = 20,              /* InfiniBand's code of 10 ms: how long a sender waits that found no receive */
    RNR_RETRIES = 6,               /* ... and how often, before it gives up: a peer that expects nothing broke the protocol */
    HOPS = 64,                     /* between routers */
    LINES_AT_ONCE = 8
};

void gf_verbs_queue_break(struct gf_verbs_queue *queue, gf_status status, const char *format, ...)
{
    va_list arguments;

    if (queue->status == GF_OK) {
        va_start(arguments, format);
        vsnprintf(queue->why.text, sizeof queue->why.text, format, arguments);
        va_end(arguments);
        queue->status = status;
    }
}

/* Room for the completions of all queues and one more; those of queues that were destroyed meanwhile may still lie there. */
static gf_status make_room(struct verbs_wire *wire, struct gf_reason *why)
{
    int needed = (wire->queues + 1) * (GF_VERBS_SENDS + GF_VERBS_RECEIVES);

    int error = wire->ends->cqe >= needed || ibv_resize_cq(wire->ends, 2 * needed) == 0 ? 0 : ibv_resize_cq(wire->ends, needed);

    if (error != 0) {
        gf_reason_set(why, "%s: the completion queue cannot have %d entries: %s", wire->base.name, needed, strerror(error));
        return GF_ERR_NO_MEMORY;
    }
    return GF_OK;
}

/* Some adapters take less than eight lines inline at once, never less than one. */
static struct ibv_qp *create_pair(struct verbs_wire *wire, struct gf_verbs_queue *queue)
{
    struct ibv_qp_init_attr wanted = {
        .qp_context = queue, .send_cq = wire->ends, .recv_cq = wire->ends, .qp_type = IBV_QPT_RC,
        .cap = { .max_send_wr = GF_VERBS_SENDS, .max_recv_wr = GF_VERBS_RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
    };

    for (uint32_t lines = LINES_AT_ONCE; lines > 0; lines /= 2) {
        struct ibv_qp_init_attr attributes = wanted;

        attributes.cap.max_inline_data = queue->inline_bytes = lines * GF_WIRE_LINE;
        struct ibv_qp *pair = ibv_create_qp(wire->domain, &attributes);

        if (pair) {
            return pair;
        }
    }
    return NULL;
}

/* From here on it takes receives. 0, or errno's code. */
static int start_pair(struct gf_verbs_queue *queue)
{
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)queue->wire->adapter.port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };

    return ibv_modify_qp(queue->pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* Enters it into the table, at the next number whose place is free. */
static gf_status enter(struct verbs_wire *wire, struct gf_verbs_queue *queue, struct gf_reason *why)
{
    if (wire->queues == GF_VERBS_QUEUES) {
        gf_reason_set(why, "%s: there are %d lanes already", wire->base.name, GF_VERBS_QUEUES);
        return GF_ERR_NO_MEMORY;
    }
    while (wire->table[wire->next_number % GF_VERBS_QUEUES]) {
        wire->next_number++;
    }
    queue->number = wire->next_number++;
    wire->table[queue->number % GF_VERBS_QUEUES] = queue;
    wire->queues++;
    return GF_OK;
}

gf_status gf_verbs_queue_create(struct verbs_wire *wire, struct gf_verbs_queue *queue, struct gf_reason *why)
{
    *queue = (struct gf_verbs_queue){ .wire = wire };
    if (getrandom(&queue->first, sizeof queue->first, 0) != (ssize_t)sizeof queue->first) {
        gf_reason_set(why, "the system gives no random number: %s", strerror(errno));
        return GF_ERR_SYSTEM;
    }
    queue->first &= LAST_PAIR;
    pthread_mutex_lock(&wire->lock);
    gf_status status = make_room(wire, why);

    if (status == GF_OK) {
        queue->pair = create_pair(wire, queue);
        int error = queue->pair ? start_pair(queue) : errno;

        if (error != 0) {
            gf_reason_set(why, "%s: no queue pair can be made: %s", wire->base.name, strerror(error));
            status = GF_ERR_NO_MEMORY;
        } else {
            status = enter(wire, queue, why);
        }
        if (status != GF_OK && queue->pair) {
            ibv_destroy_qp(queue->pair);
            queue->pair = NULL;
        }
    }
    pthread_mutex_unlock(&wire->lock);
    return status;
}

void gf_verbs_queue_retire(struct gf_verbs_queue *queue)
{
    struct verbs_wire *wire = queue->wire;

    if (queue->pair) {
        pthread_mutex_lock(&wire->lock);
        if (wire->table[queue->number % GF_VERBS_QUEUES] == queue) {
            wire->table[queue->number % GF_VERBS_QUEUES] = NULL;
        }
        pthread_mutex_unlock(&wire->lock);
    }
}

void gf_verbs_queue_destroy(struct gf_verbs_queue *queue)
{
    if (queue->pair) {
        pthread_mutex_lock(&queue->wire->lock);
        ibv_destroy_qp(queue->pair);
        queue->pair = NULL;
        queue->wire->queues--;
        pthread_mutex_unlock(&queue->wire->lock);
    }
}

void gf_verbs_queue_describe(const struct gf_verbs_queue *queue, struct gf_verbs_end *end)
{
    const struct gf_verbs_adapter *adapter = &queue->wire->adapter;

    *end = (struct gf_verbs_end){
        .magic = MAGIC, .version = VERSION,
        .link = adapter->attributes.link_layer, .gid_type = adapter->gid.gid_type,
        .mtu = adapter->attributes.active_mtu, .lid = adapter->attributes.lid,
        .pair = queue->pair->qp_num, .first = queue->first,
    };
    memcpy(end->gid, adapter->gid.gid.raw, sizeof end->gid);
}

/* Where it is, in the network. */
static gf_status check_place(const struct verbs_wire *wire, const struct gf_verbs_end *end, struct gf_reason *why)
{
    static const unsigned char none[16] = { 0 };
    const char *name = wire->base.name;

    if (end->link != wire->adapter.attributes.link_layer) {
        gf_reason_set(why,
                      "%s: the peer's port is not of the same kind of network (InfiniBand here, Ethernet there, or the reverse)",
                      name);
    } else if (wire->adapter.roce && end->gid_type != wire->adapter.gid.gid_type) {
        gf_reason_set(why, "%s: the peer uses the other version of RoCE: choose GIDs of one version", name);
    } else if (memcmp(end->gid, none, sizeof none) == 0) {
        gf_reason_set(why, "%s: the peer's GID is zero", name);
    } else if (!wire->adapter.roce && (end->lid == 0 || end->lid > UINT16_MAX)) {
        gf_reason_set(why, "%s: the peer's LID %u is none: has its port a subnet manager?", name, end->lid);
    } else {
        return GF_OK;
    }
    return GF_ERR_PEER;
}

gf_status gf_verbs_end_check(const struct verbs_wire *wire, const struct gf_wire_address *address, struct gf_verbs_end *end,
                             struct gf_reason *why)
{
    const char *name = wire->base.name;

    if (address->bytes != sizeof *end) {
        gf_reason_set(why, "%s: the peer's address has %u bytes instead of %zu", name, address->bytes, sizeof *end);
        return GF_ERR_PEER;
    }
    memcpy(end, address->data, sizeof *end);
    if (end->magic != MAGIC) {
        gf_reason_set(why, "%s: what the peer told is no address of this wire, or of a machine of the other byte order", name);
    } else if (end->version != VERSION) {
        gf_reason_set(why, "%s: the peer speaks version %u of the protocol, this one %d: use one gpufifo on all nodes", name,
                      end->version, VERSION);
    } else if (end->mtu < IBV_MTU_256 || end->mtu > IBV_MTU_4096) {
        gf_reason_set(why, "%s: the peer's MTU code %u is none", name, end->mtu);
    } else if (end->pair == 0 || end->pair > LAST_PAIR || end->first > LAST_PAIR) {
        gf_reason_set(why, "%s: the peer's queue pair %u, packet %u has more than 24 bits or is zero", name, end->pair,
                      end->first);
    } else if (end->line_count > 0 && end->lines == 0) {
        gf_reason_set(why, "%s: the peer has %u lines nowhere", name, end->line_count);
    } else {
        return check_place(wire, end, why);
    }
    return GF_ERR_PEER;
}

/* The way to that end. InfiniBand needs GIDs only to leave the subnet, whose name their first half is. */
static struct ibv_ah_attr way_to(const struct verbs_wire *wire, const struct gf_verbs_end *peer)
{
    const struct gf_verbs_adapter *adapter = &wire->adapter;
    struct ibv_ah_attr way = {
        .dlid = (uint16_t)peer->lid, .sl = (uint8_t)wire->config.service_level, .port_num = (uint8_t)adapter->port,
        .is_global = adapter->roce || memcmp(peer->gid, adapter->gid.gid.raw, 8) != 0,
    };

    if (way.is_global) {
        way.grh.sgid_index = (uint8_t)adapter->gid.gid_index;
        way.grh.hop_limit = HOPS;
        way.grh.traffic_class = (uint8_t)wire->config.traffic_class;
        memcpy(way.grh.dgid.raw, peer->gid, sizeof peer->gid);
    }
    return way;
}

gf_status gf_verbs_queue_connect(struct gf_verbs_queue *queue, const struct gf_verbs_end *peer, struct gf_reason *why)
{
    const struct verbs_wire *wire = queue->wire;
    enum ibv_mtu mine = wire->adapter.attributes.active_mtu;
    struct ibv_qp_attr to_receive = {
        .qp_state = IBV_QPS_RTR, .path_mtu = peer->mtu < mine ? (enum ibv_mtu)peer->mtu : mine, .dest_qp_num = peer->pair,
        .rq_psn = peer->first, .max_dest_rd_atomic = 1, .min_rnr_timer = MINIMUM_RNR, .ah_attr = way_to(wire, peer),
    };
    struct ibv_qp_attr to_send = {
        .qp_state = IBV_QPS_RTS, .timeout = (uint8_t)wire->config.timeout, .retry_cnt = (uint8_t)wire->config.retries,
        .rnr_retry = RNR_RETRIES, .sq_psn = queue->first, .max_rd_atomic = 1,
    };
    int error = ibv_modify_qp(queue->pair, &to_receive,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

    if (error == 0) {
        error = ibv_modify_qp(queue->pair, &to_send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    if (error != 0) {
        gf_reason_set(why, "%s: the queue pair cannot be connected to the peer's: %s", wire->base.name, strerror(error));
        return GF_ERR_PEER;
    }
    return GF_OK;
}

static uint64_t wr_id_of(const struct gf_verbs_queue *queue, uint32_t low)
{
    return (uint64_t)queue->number << 32 | low;
}

gf_status gf_verbs_queue_post(struct gf_verbs_queue *queue, struct ibv_send_wr *send, const struct gf_wire_ticket *ticket)
{
    uint32_t place = queue->sent % GF_VERBS_SENDS;
    bool asked = ticket && ticket->word;
    struct ibv_send_wr *bad;

    /* Twice a lap at least one is signalled, or a queue that is full of others would stay so. */
    send->send_flags |= asked || place % (GF_VERBS_SENDS / 2) == 0 ? IBV_SEND_SIGNALED : 0;
    send->wr_id = wr_id_of(queue, place);
    int error = ibv_post_send(queue->pair, send, &bad);

    if (error != 0) {
        gf_verbs_queue_break(queue, GF_ERR_SYSTEM, "%s: a send could not be posted: %s", queue->wire->base.name, strerror(error));
        return queue->status;
    }
    queue->tickets[place] = asked ? *ticket : (struct gf_wire_ticket){ NULL, 0 };
    queue->sent++;
    return GF_OK;
}

gf_status gf_verbs_queue_post_receive(struct gf_verbs_queue *queue)
{
    struct ibv_recv_wr receive = { .wr_id = wr_id_of(queue, GF_VERBS_RECEIVE) }, *bad;
    int error = ibv_post_recv(queue->pair, &receive, &bad);

    if (error != 0) {
        gf_verbs_queue_break(queue, GF_ERR_SYSTEM, "%s: a receive could not be posted: %s", queue->wire->base.name,
                             strerror(error));
        return queue->status;
    }
    queue->expected++;
    return GF_OK;
}

/* What the adapter reports of operations that it did not even try tells nothing: either what failed is reported too, or it was
 * the peer's operation. */
static void fail(struct gf_verbs_queue *queue, const struct ibv_wc *completion)
{
    const char *name = queue->wire->base.name;

    if (completion->status == IBV_WC_WR_FLUSH_ERR) {
        gf_verbs_queue_break(queue, GF_ERR_PEER, "%s: queue pair %u was broken by what the peer did or by the adapter (%s)", name,
                             queue->pair->qp_num, ibv_wc_status_str(completion->status));
    } else {
        gf_verbs_queue_break(queue, GF_ERR_PEER, "%s: queue pair %u: %s (vendor error 0x%x)", name, queue->pair->qp_num,
                             ibv_wc_status_str(completion->status), completion->vendor_err);
    }
}

void gf_verbs_queue_complete(struct gf_verbs_queue *queue, const struct ibv_wc *completion)
{
    uint32_t low = (uint32_t)completion->wr_id;

    if (completion->status != IBV_WC_SUCCESS) {
        fail(queue, completion);
    } else if (low & GF_VERBS_RECEIVE) {
        queue->immediates[queue->arrived++ % GF_VERBS_RECEIVES] = ntohl(completion->imm_data);
    } else {
        uint32_t place;

        do {
            place = queue->done++ % GF_VERBS_SENDS;
            if (queue->tickets[place].word) {
                *queue->tickets[place].word = queue->tickets[place].value;
            }
        } while (place != low);
    }
}
