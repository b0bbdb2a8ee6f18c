/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pump's thread.
 */
#include "proxy/pump.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The shortest sleep is a fraction of what the slots of one message take at the speed of a copy engine; the longest one bounds
 * what a message loses that begins after a long wait. */
enum { SHORTEST_NS = 20 * 1000, LONGEST_NS = 1000 * 1000 };

struct gf_pump {
    enum gf_pump_turn (*turn)(void *ctx);
    void *ctx;
    _Atomic bool awake;                /* the thread is at work and will look again before it sleeps without end */
    pthread_mutex_t lock;              /* guards what follows, and changes of awake to true */
    pthread_cond_t work;
    pthread_t thread;
    bool started, ending;
    int failure;                       /* of the start; an errno */
};

gf_status gf_pump_create(enum gf_pump_turn (*turn)(void *ctx), void *ctx, gf_pump **made, struct gf_reason *why)
{
    gf_pump *pump = calloc(1, sizeof *pump);

    *made = pump;
    if (!pump) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    pump->turn = turn;
    pump->ctx = ctx;
    pthread_mutex_init(&pump->lock, NULL);
    pthread_cond_init(&pump->work, NULL);
    return GF_OK;
}

static void sleep_ns(long ns)
{
    struct timespec time = { .tv_nsec = ns };

    nanosleep(&time, NULL);
}

/* Until nothing is left to do. */
static void work(gf_pump *pump)
{
    long pause = SHORTEST_NS;

    for (;;) {
        switch (pump->turn(pump->ctx)) {
        case GF_PUMP_IDLE:
            return;
        case GF_PUMP_MOVED:
            pause = SHORTEST_NS;
            break;
        case GF_PUMP_WAITING:
            pause = pause < LONGEST_NS / 2 ? pause * 2 : LONGEST_NS;
            break;
        }
        pthread_mutex_lock(&pump->lock);
        bool ending = pump->ending;

        pthread_mutex_unlock(&pump->lock);
        if (ending) {
            return;
        }
        sleep_ns(pause);
    }
}

/* awake is false before the last turn that may find nothing: who brings work after it sees that, and wakes. */
static void *run(void *ctx)
{
    gf_pump *pump = ctx;

    pthread_mutex_lock(&pump->lock);
    while (!pump->ending) {
        while (!pump->ending && !atomic_load(&pump->awake)) {
            pthread_cond_wait(&pump->work, &pump->lock);
        }
        pthread_mutex_unlock(&pump->lock);
        work(pump);
        atomic_store(&pump->awake, false);
        work(pump);
        pthread_mutex_lock(&pump->lock);
    }
    pthread_mutex_unlock(&pump->lock);
    return NULL;
}

/* The program's signals are not for this thread. With the lock held. */
static void start(gf_pump *pump)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pump->failure = pthread_create(&pump->thread, NULL, run, pump);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pump->started = pump->failure == 0;
}

gf_status gf_pump_wake(gf_pump *pump, struct gf_reason *why)
{
    if (atomic_load(&pump->awake)) {
        return GF_OK;
    }
    pthread_mutex_lock(&pump->lock);
    atomic_store(&pump->awake, true);
    if (!pump->started && pump->failure == 0) {
        start(pump);
    }
    int failure = pump->failure;

    pthread_cond_signal(&pump->work);
    pthread_mutex_unlock(&pump->lock);
    if (failure != 0) {
        gf_reason_set(why, "no thread can be made: %s", strerror(failure));
        return GF_ERR_SYSTEM;
    }
    return GF_OK;
}

void gf_pump_destroy(gf_pump *pump)
{
    if (!pump) {
        return;
    }
    pthread_mutex_lock(&pump->lock);
    pump->ending = true;
    pthread_cond_signal(&pump->work);
    pthread_mutex_unlock(&pump->lock);
    if (pump->started) {
        pthread_join(pump->thread, NULL);
    }
    pthread_cond_destroy(&pump->work);
    pthread_mutex_destroy(&pump->lock);
    free(pump);
}
