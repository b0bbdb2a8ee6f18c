/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One turn of a wait.
 */
#include "core/watch.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/ring.h"

enum {
    POLLS_PER_CLOCK = 256,               /* reading the clock costs more than a turn should */
    LOOK_INTERVAL_NS = 500 * 1000 * 1000 /* a look costs a few microseconds a peer: twice a second is nothing, and soon enough
                                            for a person */
};

static gf_status look_at_peers(struct gf_watch *watch, struct gf_reason *why)
{
    const struct gf_peers *peers = watch->peers;

    for (int r = 0; r < peers->ranks; r++) {
        if (r != peers->rank && gf_peers_are_near(peers, r) && !gf_peer_alive(&peers->infos[r])) {
            char text[sizeof ((struct gf_abort_page *)0)->text];

            snprintf(text, sizeof text, "rank %d (process %d on %s) has ended in the middle of an operation", r,
                     (int)peers->infos[r].pid, peers->infos[r].host);
            gf_abort_raise(watch->abort, GF_ERR_PEER, text);
            return gf_abort_check(watch->abort, why);
        }
    }
    return GF_OK;
}

gf_status gf_watch_look(struct gf_watch *watch, struct gf_reason *why)
{
    gf_status status = gf_abort_check(watch->abort, why);

    if (status != GF_OK) {
        return status;
    }
    if (++watch->polls % POLLS_PER_CLOCK != 0) {
        return GF_OK;
    }
    uint64_t now = gf_now_ns();

    if (watch->looked_ns == 0) {
        watch->looked_ns = now;
    }
    if (now - watch->looked_ns < LOOK_INTERVAL_NS) {
        return GF_OK;
    }
    watch->looked_ns = now;
    if (watch->ring) {
        gf_ring_ask(watch->ring);
    }
    return look_at_peers(watch, why);
}

gf_status gf_watch_poll(void *ctx, struct gf_reason *why)
{
    struct gf_watch *watch = ctx;
    gf_status status = gf_watch_look(watch, why);

    if (status == GF_OK && watch->bootstrap->progress) {
        watch->bootstrap->progress(watch->bootstrap->ctx);
    }
    return status;
}
