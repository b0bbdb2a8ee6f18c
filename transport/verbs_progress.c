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
uint64_t gf_verbs_patience(const struct gf_verbs_rail *rail)
{
    return (4096ull << rail->wire->config.timeout) * (uint64_t)(rail->wire->config.retries + 1);
}

static void break_all(struct gf_verbs_rail *rail, const char *what)
{
    if (rail->status == GF_OK) {
        gf_reason_set(&rail->why, "%s: %s", rail->name, what);
        rail->status = GF_ERR_PEER;
    }
}

static void take_event(struct gf_verbs_rail *rail, const struct ibv_async_event *event)
{
    bool mine = event->element.port_num == rail->adapter.port;

    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        if (mine && rail->port_down == 0) {
            rail->port_down = gf_verbs_now();
        }
        break;
    case IBV_EVENT_PORT_ACTIVE:
        if (mine) {
            rail->port_down = 0;
        }
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        gf_verbs_queue_break(event->element.qp->qp_context, GF_ERR_PEER, "%s: queue pair %u: %s", rail->name,
                             event->element.qp->qp_num, ibv_event_type_str(event->event_type));
        break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        break_all(rail, ibv_event_type_str(event->event_type));
        break;
    default:
        break;
    }
}

/* The adapter's descriptor does not block. */
static void look_for_events(struct gf_verbs_rail *rail)
{
    struct ibv_async_event event;

    while (ibv_get_async_event(rail->adapter.context, &event) == 0) {
        take_event(rail, &event);
        ibv_ack_async_event(&event);
    }
    if (rail->port_down != 0 && gf_verbs_now() - rail->port_down > gf_verbs_patience(rail)) {
        break_all(rail, "the port is down");
    }
}

static bool progress_rail(struct gf_verbs_rail *rail)
{
    struct ibv_wc completions[COMPLETIONS_AT_ONCE];

    pthread_mutex_lock(&rail->lock);
    if (rail->looks++ % LOOKS_BETWEEN_EVENTS == 0) {
        look_for_events(rail);
    }
    int count = ibv_poll_cq(rail->ends, COMPLETIONS_AT_ONCE, completions);

    for (int i = 0; i < count; i++) {
        uint32_t number = gf_verbs_number_of(completions[i].wr_id);
        struct gf_verbs_queue *queue = rail->table[number % GF_VERBS_QUEUES];

        /* It may have been destroyed meanwhile. */
        if (queue && queue->number == number) {
            gf_verbs_queue_complete(queue, &completions[i]);
        }
    }
    pthread_mutex_unlock(&rail->lock);
    if (count < 0) {
        break_all(rail, "the completion queue cannot be read");
    }
    return count > 0;
}

bool gf_verbs_progress(struct gf_wire *base)
{
    struct verbs_wire *wire = verbs_wire_of(base);
    bool moved = false;

    for (int i = 0; i < wire->rail_count; i++) {
        moved |= progress_rail(&wire->rails[i]);
    }
    return moved;
}
