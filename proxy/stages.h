/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the proxy does for one direction of one FIFO whose data the host moves: a ladder of counters that only grow. A step (a
 * slot's worth) climbs it stage by stage; each stage is one small function of the transport's.
 *
 *   send      done ≤ sent ≤ filled ≤ granted ≤ done + depth
 *               grant   tells the kernel that it may fill the slot
 *               fill    has the kernel filled it?
 *               send    starts the transfer; the peer must have room
 *               finish  has the transfer ended? then the peer is told
 *
 *   receive   done ≤ ready ≤ flushed ≤ arrived ≤ posted ≤ done + depth
 *               post    tells the peer that there is room: the posted receive is the credit
 *               arrive  has the peer sent it? then it is on its way to the kernel's memory
 *               flush   is it there for certain?
 *               ready   tells the kernel
 *               finish  has the kernel taken it?
 *
 * A stage returns GF_OK (the step has passed), GF_IN_PROGRESS (not yet), GF_NO_RESOURCE (nothing was started, for want of room
 * elsewhere) or an error. It never waits, and is asked again in the next turn: back-pressure is nothing else. Steps pass each
 * stage in order. Debug builds check the ladder after every stage.
 *
 * Threads: a ladder is the proxy thread's, but for `target`, which who launches kernels raises.
 */
#ifndef GF_PROXY_STAGES_H
#define GF_PROXY_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "core/host_ordered.h"
#include "proxy/proxy.h"

typedef gf_status gf_proxy_stage(void *ctx, uint64_t step);

struct gf_proxy_send_stages {
    gf_proxy_stage *grant, *fill, *send, *finish;
};

/* Zeroed but for stages, ctx and depth (at least 1). */
struct gf_proxy_send {
    const struct gf_proxy_send_stages *stages;
    void *ctx;
    uint64_t depth;
    uint64_t target;                   /* steps that kernels were or will be launched for: no more are looked for */
    uint64_t granted, filled, sent, done;
};

struct gf_proxy_recv_stages {
    gf_proxy_stage *post, *arrive, *flush, *ready, *finish;
};

struct gf_proxy_recv {
    const struct gf_proxy_recv_stages *stages;
    void *ctx;
    uint64_t depth;
    uint64_t target;
    uint64_t posted, arrived, flushed, ready, done;
};

/* The next launch has so many steps. To be followed by gf_proxy_wake. One thread at a time. */
static inline void gf_proxy_expect(uint64_t *target, uint64_t steps)
{
    gf_host_publish(target, *target + steps);
}

/* Moves every step as far up as it goes: GF_PROXY_MOVED, GF_PROXY_NEAR, or GF_PROXY_IDLE when the target is reached. An error
 * of a stage goes to *status, which is left alone otherwise; the ladder is not to be used any more. */
enum gf_proxy_turn gf_proxy_send_turn(struct gf_proxy_send *send, gf_status *status);
enum gf_proxy_turn gf_proxy_recv_turn(struct gf_proxy_recv *recv, gf_status *status);

/* Does the ladder hold? */
bool gf_proxy_send_holds(const struct gf_proxy_send *send);
bool gf_proxy_recv_holds(const struct gf_proxy_recv *recv);

/* One stage: as many steps as are below `limit` and pass. True: go on with the next stage. For send.c and recv.c. */
static inline bool gf_proxy_climb(gf_proxy_stage *stage, void *ctx, uint64_t *counter, uint64_t limit, bool *moved,
                                  gf_status *status)
{
    while (*counter < limit) {
        gf_status passed = stage(ctx, *counter);

        if (passed < 0) {
            *status = passed;
            return false;
        }
        if (passed != GF_OK) {
            break;
        }
        ++*counter;
        *moved = true;
    }
    return true;
}

#endif
