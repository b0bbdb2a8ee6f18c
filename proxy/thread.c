/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proxy's thread: turns, naps and sleep.
 *
 * Going to sleep. Who brings work adds to `wakes` and then looks at `asleep`; the thread sets `asleep` and then looks at `wakes`.
 * Both are sequentially consistent, so one of the two sees the other: either the thread stays awake, or it is woken.
 */
#define _GNU_SOURCE
#include "proxy/proxy.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels/mutants.h"
#include "proxy/place.h"
#include "proxy/queue.h"

/* The shortest nap is a fraction of what a slot takes at the speed of a copy engine; the longest bounds what is lost by who
 * moves on after a long wait. */
enum { SHORTEST_NS = 20 * 1000, LONGEST_NS = 1000 * 1000 };
/* Of looks in vain before what is near is taken for far: some milliseconds. */
enum { NEAR_TURNS = 8192 };

struct gf_proxy {
    bool near_device;                  /* fixed by create */
    int node;
    uint64_t wakes;                    /* atomic */
    uint32_t asleep;                   /* atomic; 1: the thread sleeps on this word, or is about to */
    uint32_t departures;               /* atomic; tasks that have left: those who remove sleep on it */
    uint64_t sleeps;                   /* atomic */
    bool ending;                       /* atomic */
    struct gf_proxy_queue newcomers;
    struct gf_proxy_task *tasks;       /* the thread's */
    char place[GF_PLACE_TEXT];         /* the thread's, until placed */
    bool placed;                       /* atomic */

    pthread_mutex_t lock;              /* of the start; guards what follows */
    pthread_t thread;
    bool started;
};

static void futex_wait(uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(uint32_t *word, int most)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

gf_status gf_proxy_create(const gf_device *device, gf_proxy **made, struct gf_reason *why)
{
    gf_proxy *proxy = calloc(1, sizeof *proxy);

    *made = proxy;
    if (!proxy) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    proxy->near_device = device != NULL;
    proxy->node = device ? device->caps.numa_node : -1;
    pthread_mutex_init(&proxy->lock, NULL);
    return GF_OK;
}

static void adopt_newcomers(gf_proxy *proxy)
{
    struct gf_proxy_task *task = gf_proxy_queue_take(&proxy->newcomers);

    while (task) {
        struct gf_proxy_task *next = task->next;

        task->next = proxy->tasks;
        proxy->tasks = task;
        task = next;
    }
}

/* The task is its owner's from the store on. */
static void let_go(gf_proxy *proxy, struct gf_proxy_task *task)
{
    __atomic_store_n(&task->state, GF_TASK_OUT, __ATOMIC_RELEASE);
    __atomic_fetch_add(&proxy->departures, 1, __ATOMIC_SEQ_CST);
    futex_wake(&proxy->departures, INT32_MAX);
}

/* One turn of each task; the most hasty answer. */
static enum gf_proxy_turn turn_all(gf_proxy *proxy)
{
    enum gf_proxy_turn most = GF_PROXY_IDLE;

    adopt_newcomers(proxy);
    for (struct gf_proxy_task **link = &proxy->tasks; *link; ) {
        struct gf_proxy_task *task = *link;

        if (__atomic_load_n(&task->state, __ATOMIC_ACQUIRE) == GF_TASK_LEAVING) {
            *link = task->next;
            let_go(proxy, task);
            continue;
        }
        enum gf_proxy_turn turn = task->turn(task->ctx);

        most = turn > most ? turn : most;
        link = &task->next;
    }
    return most;
}

/* Unless there was a wake since `seen`. */
static void sleep_until_woken(gf_proxy *proxy, uint64_t seen)
{
    __atomic_store_n(&proxy->asleep, 1, __ATOMIC_SEQ_CST);
    if (GF_MUTANT == GF_MUTANT_COPY_LOST_WAKE || __atomic_load_n(&proxy->wakes, __ATOMIC_SEQ_CST) == seen) {
        __atomic_fetch_add(&proxy->sleeps, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&proxy->asleep, __ATOMIC_ACQUIRE)) {
            futex_wait(&proxy->asleep, 1);
        }
    }
    __atomic_store_n(&proxy->asleep, 0, __ATOMIC_RELAXED);
}

static void nap(long ns)
{
    struct timespec time = { .tv_nsec = ns };

    nanosleep(&time, NULL);
}

/* How long things have been waited for. */
struct pace {
    unsigned near;                     /* turns in vain in a row */
    long nap_ns;                       /* the last one */
};

static void pause_after(struct pace *pace, enum gf_proxy_turn turn)
{
    bool far = turn == GF_PROXY_WAITING || (turn == GF_PROXY_NEAR && ++pace->near > NEAR_TURNS);

    if (far) {
        pace->nap_ns = pace->nap_ns == 0 ? SHORTEST_NS : pace->nap_ns < LONGEST_NS / 2 ? pace->nap_ns * 2 : LONGEST_NS;
        nap(pace->nap_ns);
        return;
    }
    pace->nap_ns = 0;
    if (turn == GF_PROXY_STEADY) {
        nap(SHORTEST_NS);
    } else if (turn == GF_PROXY_NEAR) {
        sched_yield();
    }
    if (turn != GF_PROXY_NEAR) {
        pace->near = 0;
    }
}

static void *run(void *ctx)
{
    gf_proxy *proxy = ctx;
    struct pace pace = { 0, 0 };

    if (proxy->near_device) {
        gf_place_self(proxy->node, proxy->place);
    }
    __atomic_store_n(&proxy->placed, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&proxy->ending, __ATOMIC_ACQUIRE)) {
        uint64_t seen = __atomic_load_n(&proxy->wakes, __ATOMIC_SEQ_CST);
        enum gf_proxy_turn turn = turn_all(proxy);

        if (turn == GF_PROXY_IDLE) {
            sleep_until_woken(proxy, seen);
            pace = (struct pace){ 0, 0 };
        } else {
            pause_after(&pace, turn);
        }
    }
    return NULL;
}

/* The program's signals are not for this thread. With the lock held; an errno. */
static int start(gf_proxy *proxy)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&proxy->thread, NULL, run, proxy);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

gf_status gf_proxy_add(gf_proxy *proxy, struct gf_proxy_task *task, struct gf_reason *why)
{
    int failure = 0;

    pthread_mutex_lock(&proxy->lock);
    if (!proxy->started) {
        failure = start(proxy);
        proxy->started = failure == 0;
    }
    pthread_mutex_unlock(&proxy->lock);
    if (failure != 0) {
        gf_reason_set(why, "no thread can be made: %s", strerror(failure));
        return GF_ERR_SYSTEM;
    }
    __atomic_store_n(&task->state, GF_TASK_IN, __ATOMIC_RELAXED);
    gf_proxy_queue_push(&proxy->newcomers, task);
    gf_proxy_wake(proxy);
    return GF_OK;
}

void gf_proxy_wake(gf_proxy *proxy)
{
    __atomic_fetch_add(&proxy->wakes, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&proxy->asleep, __ATOMIC_SEQ_CST) && __atomic_exchange_n(&proxy->asleep, 0, __ATOMIC_ACQ_REL)) {
        futex_wake(&proxy->asleep, 1);
    }
}

void gf_proxy_remove(gf_proxy *proxy, struct gf_proxy_task *task)
{
    if (__atomic_load_n(&task->state, __ATOMIC_ACQUIRE) == GF_TASK_OUT) {
        return;
    }
    __atomic_store_n(&task->state, GF_TASK_LEAVING, __ATOMIC_RELEASE);
    gf_proxy_wake(proxy);
    for (;;) {
        uint32_t departures = __atomic_load_n(&proxy->departures, __ATOMIC_SEQ_CST);

        if (__atomic_load_n(&task->state, __ATOMIC_ACQUIRE) == GF_TASK_OUT) {
            return;
        }
        futex_wait(&proxy->departures, departures);
    }
}

const char *gf_proxy_place(const gf_proxy *proxy)
{
    return __atomic_load_n(&proxy->placed, __ATOMIC_ACQUIRE) ? proxy->place : "";
}

uint64_t gf_proxy_sleeps(const gf_proxy *proxy)
{
    return __atomic_load_n(&proxy->sleeps, __ATOMIC_RELAXED);
}

void gf_proxy_destroy(gf_proxy *proxy)
{
    if (!proxy) {
        return;
    }
    __atomic_store_n(&proxy->ending, true, __ATOMIC_RELEASE);
    gf_proxy_wake(proxy);
    if (proxy->started) {
        pthread_join(proxy->thread, NULL);
    }
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}
