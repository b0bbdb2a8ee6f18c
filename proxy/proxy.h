/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proxy: the host agent that plays the next GPU. One thread a process and device moves on whatever kernels and peers wait
 * for while the program computes: *tasks*, each a function that never waits.
 *
 *     add ──▶ queue ──▶ the thread's list ──turn, turn, …──▶ remove
 *
 * The thread sleeps on a futex while all tasks are idle; gf_proxy_wake costs those who bring work one atomic addition, and a
 * system call only where the thread sleeps. It runs near its device (proxy/place.h).
 *
 * What FIFOs need is above it: the ladders of proxy/stages.h, driven by a transport's task.
 */
#ifndef GF_PROXY_PROXY_H
#define GF_PROXY_PROXY_H

#include <stdint.h>

#include "base/status.h"
#include "device/device.h"

typedef struct gf_proxy gf_proxy;

/* What a turn found, in the order of haste: of several tasks the most hasty one decides when the next turn is. */
enum gf_proxy_turn {
    GF_PROXY_IDLE,                     /* nothing to do until gf_proxy_wake */
    GF_PROXY_WAITING,                  /* for something that may take long: each nap is twice as long as the one before */
    GF_PROXY_STEADY,                   /* work goes on at its own pace: the shortest nap */
    GF_PROXY_NEAR,                     /* for something microseconds away, a copy or a kernel: no nap, but after long */
    GF_PROXY_MOVED                     /* something moved: look again at once */
};

/* Owned by whoever adds it, zeroed but for turn and ctx; must live from gf_proxy_add until gf_proxy_remove returns. */
struct gf_proxy_task {
    enum gf_proxy_turn (*turn)(void *ctx);     /* called by the thread alone; must not wait */
    void *ctx;
    struct gf_proxy_task *next;        /* the proxy's */
    uint32_t state;                    /* the proxy's; enum gf_proxy_task_state */
};

enum gf_proxy_task_state { GF_TASK_OUT, GF_TASK_IN, GF_TASK_LEAVING };

/* No thread yet: the first task makes it. device: which it shall run near; null: wherever the caller runs. Does not keep it. */
gf_status gf_proxy_create(const gf_device *device, gf_proxy **proxy, struct gf_reason *why);

/* Any thread. An error: there is no thread, the task is not in. */
gf_status gf_proxy_add(gf_proxy *proxy, struct gf_proxy_task *task, struct gf_reason *why);

/* There is work for some task: what the caller wrote before is visible to the turns that follow. Any thread; never waits. */
void gf_proxy_wake(gf_proxy *proxy);

/* Returns when the thread will not touch the task again. Not from a turn. A task that is not in is allowed. */
void gf_proxy_remove(gf_proxy *proxy, struct gf_proxy_task *task);

/* Where the thread runs, in words; empty as long as there is none. */
const char *gf_proxy_place(const gf_proxy *proxy);

/* How often the thread has gone to sleep until the next wake. For tests. */
uint64_t gf_proxy_sleeps(const gf_proxy *proxy);

/* Ends the thread after its turn, whatever is in. Accepts null. */
void gf_proxy_destroy(gf_proxy *proxy);

#endif
