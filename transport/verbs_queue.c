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
static gf_status make_room(struct gf_verbs_rail *rail, struct gf_reason *why)
{
    int needed = (rail->queues + 1) * (GF_VERBS_SENDS + GF_VERBS_RECEIVES);

    int error = rail->ends->cqe >= needed || ibv_resize_cq(rail->ends, 2 * needed) == 0 ? 0 : ibv_resize_cq(rail->ends, needed);

    if (error != 0) {
        gf_reason_set(why, "%s: the completion queue cannot have %d entries: %s", rail->name, needed, strerror(error));
        return GF_ERR_NO_MEMORY;
    }
    return GF_OK;
}

/* Some adapters take less than eight lines inline at once, never less than one. */
static struct ibv_qp *create_pair(struct gf_verbs_rail *rail, struct gf_verbs_queue *queue)
{
    struct ibv_qp_init_attr wanted = {
        .qp_context = queue, .send_cq = rail->ends, .recv_cq = rail->ends, .qp_type = IBV_QPT_RC,
        .cap = { .max_send_wr = GF_VERBS_SENDS, .max_recv_wr = GF_VERBS_RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
    };

    for (uint32_t lines = LINES_AT_ONCE; lines > 0; lines /= 2) {
        struct ibv_qp_init_attr attributes = wanted;

        attributes.cap.max_inline_data = queue->inline_bytes = lines * GF_WIRE_LINE;
        struct ibv_qp *pair = ibv_create_qp(rail->domain, &attributes);

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
        .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)queue->rail->adapter.port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };

    return ibv_modify_qp(queue->pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* Enters it into the table, at the next number whose place is free. */
static gf_status enter(struct gf_verbs_rail *rail, struct gf_verbs_queue *queue, struct gf_reason *why)
{
    if (rail->queues == GF_VERBS_QUEUES) {
        gf_reason_set(why, "%s: there are %d queue pairs already", rail->name, GF_VERBS_QUEUES);
        return GF_ERR_NO_MEMORY;
    }
    while (rail->table[rail->next_number % GF_VERBS_QUEUES]) {
        rail->next_number++;
    }
    queue->number = rail->next_number++;
    rail->table[queue->number % GF_VERBS_QUEUES] = queue;
    rail->queues++;
    return GF_OK;
}

gf_status gf_verbs_queue_create(struct gf_verbs_rail *rail, struct gf_verbs_queue *queue, struct gf_reason *why)
{
    *queue = (struct gf_verbs_queue){ .rail = rail };
    if (getrandom(&queue->first, sizeof queue->first, 0) != (ssize_t)sizeof queue->first) {
        gf_reason_set(why, "the system gives no random number: %s", strerror(errno));
        return GF_ERR_SYSTEM;
    }
    queue->first &= GF_VERBS_LAST_PAIR;
    pthread_mutex_lock(&rail->lock);
    gf_status status = make_room(rail, why);

    if (status == GF_OK) {
        queue->pair = create_pair(rail, queue);
        int error = queue->pair ? start_pair(queue) : errno;

        if (error != 0) {
            gf_reason_set(why, "%s: no queue pair can be made: %s", rail->name, strerror(error));
            status = GF_ERR_NO_MEMORY;
        } else {
            status = enter(rail, queue, why);
        }
        if (status != GF_OK && queue->pair) {
            ibv_destroy_qp(queue->pair);
            queue->pair = NULL;
        }
    }
    pthread_mutex_unlock(&rail->lock);
    return status;
}

void gf_verbs_queue_retire(struct gf_verbs_queue *queue)
{
    struct gf_verbs_rail *rail = queue->rail;

    if (queue->pair) {
        pthread_mutex_lock(&rail->lock);
        if (rail->table[queue->number % GF_VERBS_QUEUES] == queue) {
            rail->table[queue->number % GF_VERBS_QUEUES] = NULL;
        }
        pthread_mutex_unlock(&rail->lock);
    }
}

void gf_verbs_queue_shut(struct gf_verbs_queue *queue)
{
    struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

    if (ibv_modify_qp(queue->pair, &error, IBV_QP_STATE) != 0) {
        gf_verbs_queue_destroy(queue);
    }
}

void gf_verbs_queue_destroy(struct gf_verbs_queue *queue)
{
    if (queue->pair) {
        ibv_destroy_qp(queue->pair);
        queue->pair = NULL;
        pthread_mutex_lock(&queue->rail->lock);
        queue->rail->queues--;
        pthread_mutex_unlock(&queue->rail->lock);
    }
}

/* The way to that end. InfiniBand needs GIDs only to leave the subnet, whose name their first half is. */
static struct ibv_ah_attr way_to(const struct gf_verbs_rail *rail, const struct gf_verbs_end *peer)
{
    const struct gf_verbs_adapter *adapter = &rail->adapter;
    struct ibv_ah_attr way = {
        .dlid = (uint16_t)peer->lid, .sl = (uint8_t)rail->wire->config.service_level, .port_num = (uint8_t)adapter->port,
        .is_global = adapter->roce || memcmp(peer->gid, adapter->gid.gid.raw, 8) != 0,
    };

    if (way.is_global) {
        way.grh.sgid_index = (uint8_t)adapter->gid.gid_index;
        way.grh.hop_limit = HOPS;
        way.grh.traffic_class = (uint8_t)rail->wire->config.traffic_class;
        memcpy(way.grh.dgid.raw, peer->gid, sizeof peer->gid);
    }
    return way;
}

gf_status gf_verbs_queue_connect(struct gf_verbs_queue *queue, const struct gf_verbs_end *peer, int i, struct gf_reason *why)
{
    const struct gf_verbs_rail *rail = queue->rail;
    struct ibv_qp_attr to_receive = {
        .qp_state = IBV_QPS_RTR, .path_mtu = gf_verbs_end_mtu(rail, peer), .dest_qp_num = peer->pairs[i].number,
        .rq_psn = peer->pairs[i].first, .max_dest_rd_atomic = 1, .min_rnr_timer = MINIMUM_RNR, .ah_attr = way_to(rail, peer),
    };
    struct ibv_qp_attr to_send = {
        .qp_state = IBV_QPS_RTS, .timeout = (uint8_t)rail->wire->config.timeout, .retry_cnt = (uint8_t)rail->wire->config.retries,
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
        gf_reason_set(why, "%s: the queue pair cannot be connected to the peer's: %s", rail->name, strerror(error));
        return GF_ERR_PEER;
    }
    return GF_OK;
}

static uint64_t wr_id_of(const struct gf_verbs_queue *queue, uint32_t low)
{
    return (uint64_t)queue->number << 32 | low;
}

gf_status gf_verbs_queue_post(struct gf_verbs_queue *queue, struct ibv_send_wr *send, const struct gf_verbs_ticket *ticket)
{
    uint32_t place = queue->sent % GF_VERBS_SENDS;
    bool asked = ticket && ticket->told.word;
    struct ibv_send_wr *bad;

    /* Twice a lap at least one is signalled, or a queue that is full of others would stay so. */
    send->send_flags |= asked || place % (GF_VERBS_SENDS / 2) == 0 ? IBV_SEND_SIGNALED : 0;
    send->wr_id = wr_id_of(queue, place);
    int error = ibv_post_send(queue->pair, send, &bad);

    if (error != 0) {
        gf_verbs_queue_break(queue, GF_ERR_SYSTEM, "%s: a send could not be posted: %s", queue->rail->name, strerror(error));
        return queue->status;
    }
    queue->tickets[place] = asked ? *ticket : (struct gf_verbs_ticket){ .left = NULL };
    queue->sent++;
    return GF_OK;
}

gf_status gf_verbs_queue_post_receive(struct gf_verbs_queue *queue)
{
    struct ibv_recv_wr receive = { .wr_id = wr_id_of(queue, GF_VERBS_RECEIVE) }, *bad;
    int error = ibv_post_recv(queue->pair, &receive, &bad);

    if (error != 0) {
        gf_verbs_queue_break(queue, GF_ERR_SYSTEM, "%s: a receive could not be posted: %s", queue->rail->name,
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
    const char *name = queue->rail->name;

    if (completion->status == IBV_WC_WR_FLUSH_ERR) {
        gf_verbs_queue_break(queue, GF_ERR_PEER, "%s: queue pair %u was broken by what the peer did or by the adapter (%s)", name,
                             queue->pair->qp_num, ibv_wc_status_str(completion->status));
    } else {
        gf_verbs_queue_break(queue, GF_ERR_PEER, "%s: queue pair %u: %s (vendor error 0x%x)", name, queue->pair->qp_num,
                             ibv_wc_status_str(completion->status), completion->vendor_err);
    }
}

static void redeem(const struct gf_verbs_ticket *ticket)
{
    if (ticket->told.word && (!ticket->left || --*ticket->left == 0)) {
        *ticket->told.word = ticket->told.value;
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
            redeem(&queue->tickets[place]);
        } while (place != low);
    }
}
