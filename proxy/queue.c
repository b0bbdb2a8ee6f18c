/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stack that is emptied whole, so that no task can be taken and pushed again between a look and a swap.
 */
#include "proxy/queue.h"

#include <stdbool.h>

void gf_proxy_queue_push(struct gf_proxy_queue *queue, struct gf_proxy_task *task)
{
    struct gf_proxy_task *newest = __atomic_load_n(&queue->newest, __ATOMIC_RELAXED);

    do {
        task->next = newest;
    } while (!__atomic_compare_exchange_n(&queue->newest, &newest, task, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

struct gf_proxy_task *gf_proxy_queue_take(struct gf_proxy_queue *queue)
{
    struct gf_proxy_task *task = NULL, *oldest = NULL;

    if (__atomic_load_n(&queue->newest, __ATOMIC_RELAXED)) {
        task = __atomic_exchange_n(&queue->newest, NULL, __ATOMIC_ACQUIRE);
    }
    while (task) {
        struct gf_proxy_task *next = task->next;

        task->next = oldest;
        oldest = task;
        task = next;
    }
    return oldest;
}
