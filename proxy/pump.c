/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pump is a task of a proxy of its own, at home wherever the program runs.
 */
#include "proxy/pump.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "proxy/proxy.h"

struct gf_pump {
    enum gf_pump_turn (*turn)(void *ctx);
    void *ctx;
    gf_proxy *proxy;
    struct gf_proxy_task task;
    _Atomic unsigned relieved;         /* so often; written by the program */
    unsigned relieved_seen;            /* the thread's */
    _Atomic bool running;              /* the task is in */
    pthread_mutex_t lock;              /* of the start; guards what follows */
    gf_status failure;                 /* of the start: there will be no other */
    struct gf_reason failure_why;
};

static enum gf_proxy_turn turn(void *ctx)
{
    gf_pump *pump = ctx;
    unsigned relieved = pump->relieved;

    if (relieved != pump->relieved_seen) {
        pump->relieved_seen = relieved;
        return GF_PROXY_WAITING;
    }
    switch (pump->turn(pump->ctx)) {
    case GF_PUMP_MOVED:
        return GF_PROXY_STEADY;
    case GF_PUMP_WAITING:
        return GF_PROXY_WAITING;
    default:
        return GF_PROXY_IDLE;
    }
}

gf_status gf_pump_create(enum gf_pump_turn (*pump_turn)(void *ctx), void *ctx, gf_pump **made, struct gf_reason *why)
{
    gf_pump *pump = calloc(1, sizeof *pump);

    *made = NULL;
    if (!pump) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_proxy_create(NULL, &pump->proxy, why);

    if (status != GF_OK) {
        free(pump);
        return status;
    }
    pump->turn = pump_turn;
    pump->ctx = ctx;
    pump->task = (struct gf_proxy_task){ .turn = turn, .ctx = pump };
    pthread_mutex_init(&pump->lock, NULL);
    *made = pump;
    return GF_OK;
}

gf_status gf_pump_wake(gf_pump *pump, struct gf_reason *why)
{
    if (atomic_load(&pump->running)) {
        gf_proxy_wake(pump->proxy);
        return GF_OK;
    }
    pthread_mutex_lock(&pump->lock);
    if (!pump->running && pump->failure == GF_OK) {
        pump->failure = gf_proxy_add(pump->proxy, &pump->task, &pump->failure_why);
        pump->running = pump->failure == GF_OK;
    }
    gf_status status = pump->failure;

    pthread_mutex_unlock(&pump->lock);
    if (status != GF_OK) {
        gf_reason_set(why, "%s", pump->failure_why.text);
        return status;
    }
    gf_proxy_wake(pump->proxy);
    return GF_OK;
}

void gf_pump_relieve(gf_pump *pump)
{
    atomic_fetch_add_explicit(&pump->relieved, 1, memory_order_relaxed);
}

void gf_pump_destroy(gf_pump *pump)
{
    if (!pump) {
        return;
    }
    gf_proxy_destroy(pump->proxy);
    pthread_mutex_destroy(&pump->lock);
    free(pump);
}
