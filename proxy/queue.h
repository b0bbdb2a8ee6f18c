/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How tasks reach the proxy's thread: any thread pushes, the proxy's takes all at once. No lock.
 */
#ifndef GF_PROXY_QUEUE_H
#define GF_PROXY_QUEUE_H

#include "proxy/proxy.h"

/* Zeroed: empty. Tasks are linked by `next` while they are in it. */
struct gf_proxy_queue {
    struct gf_proxy_task *newest;
};

/* Any thread, without waiting; the task is the queue's until it is taken. */
void gf_proxy_queue_push(struct gf_proxy_queue *queue, struct gf_proxy_task *task);

/* All that were pushed, the oldest first; null: none. One thread. What the pushers wrote before is visible. */
struct gf_proxy_task *gf_proxy_queue_take(struct gf_proxy_queue *queue);

#endif
