/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress: completions of all queues, and what the adapter says about itself, its port and its queue pairs.
 */
#include "transport/verbs_private.h"

#include <time.h>

enum {
    COMPLETIONS_AT_ONCE = 16,
    LOOKS_BETWEEN_EVENTS = 256     /* asking for events is a system call */
};

uint64_t gf_verbs_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* InfiniBand's unit is 4.096 µs. */
uint64_t gf_verbs_patience(const struct verbs_wire *wire)
{
    return (4096ull << wire->config.timeout) * (uint64_t)(wire->config.retries + 1);
}

static void break_all(struct verbs_wire *wire, const char *what)
{
    if (wire->status == GF_OK) {
        gf_reason_set(&wire->why, "%s: %s", wire->base.name, what);
        wire->status = GF_ERR_PEER;
    }
}

static void take_event(struct verbs_wire *wire, const struct ibv_async_event *event)
{
    bool mine = event->element.port_num == wire->adapter.port;

    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        if (mine && wire->port_down == 0) {
            wire->port_down = gf_verbs_now();
        }
        break;
    case IBV_EVENT_PORT_ACTIVE:
        if (mine) {
            wire->port_down = 0;
        }
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        gf_verbs_queue_break(event->element.qp->qp_context, GF_ERR_PEER, "%s: queue pair %u: %s", wire->base.name,
                             event->element.qp->qp_num, ibv_event_type_str(event->event_type));
        break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        break_all(wire, ibv_event_type_str(event->event_type));
        break;
    default:
        break;
    }
}

/* The adapter's descriptor does not block. */
static void look_for_events(struct verbs_wire *wire)
{
    struct ibv_async_event event;

    while (ibv_get_async_event(wire->adapter.context, &event) == 0) {
        take_event(wire, &event);
        ibv_ack_async_event(&event);
    }
    if (wire->port_down != 0 && gf_verbs_now() - wire->port_down > gf_verbs_patience(wire)) {
        break_all(wire, "the port is down");
    }
}

bool gf_verbs_progress(struct gf_wire *base)
{
    struct verbs_wire *wire = verbs_wire_of(base);
    struct ibv_wc completions[COMPLETIONS_AT_ONCE];

    pthread_mutex_lock(&wire->lock);
    if (wire->looks++ % LOOKS_BETWEEN_EVENTS == 0) {
        look_for_events(wire);
    }
    int count = ibv_poll_cq(wire->ends, COMPLETIONS_AT_ONCE, completions);

    for (int i = 0; i < count; i++) {
        uint32_t number = gf_verbs_number_of(completions[i].wr_id);
        struct gf_verbs_queue *queue = wire->table[number % GF_VERBS_QUEUES];

        /* It may have been destroyed meanwhile. */
        if (queue && queue->number == number) {
            gf_verbs_queue_complete(queue, &completions[i]);
        }
    }
    pthread_mutex_unlock(&wire->lock);
    if (count < 0) {
        break_all(wire, "the completion queue cannot be read");
    }
    return count > 0;
}
