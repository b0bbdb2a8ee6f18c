/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The send ladder. From its top: what has left makes room for what comes, in the same turn.
 */
#include <assert.h>

#include "kernels/mutants.h"
#include "proxy/stages.h"

bool gf_proxy_send_holds(const struct gf_proxy_send *s)
{
    return s->done <= s->sent && s->sent <= s->filled && s->filled <= s->granted && s->granted <= s->done + s->depth;
}

static bool climb(struct gf_proxy_send *s, gf_proxy_stage *stage, uint64_t *counter, uint64_t limit, bool *moved,
                  gf_status *status)
{
    bool going_on = gf_proxy_climb(stage, s->ctx, counter, limit, moved, status);

    assert(gf_proxy_send_holds(s));
    return going_on;
}

/* Steps whose slots the kernel may fill again. */
static uint64_t returned(const struct gf_proxy_send *s)
{
    return GF_MUTANT == GF_MUTANT_COPY_EARLY_GRANT ? s->sent : s->done;
}

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

enum gf_proxy_turn gf_proxy_send_turn(struct gf_proxy_send *s, gf_status *status)
{
    const struct gf_proxy_send_stages *stages = s->stages;
    uint64_t target = gf_host_observe(&s->target);
    bool moved = false;

    if (!climb(s, stages->finish, &s->done, s->sent, &moved, status)
        || !climb(s, stages->grant, &s->granted, returned(s) + s->depth, &moved, status)
        || !climb(s, stages->fill, &s->filled, lesser(s->granted, target), &moved, status)
        || !climb(s, stages->send, &s->sent, s->filled, &moved, status)) {
        return GF_PROXY_IDLE;
    }
    return moved ? GF_PROXY_MOVED : s->done < target ? GF_PROXY_NEAR : GF_PROXY_IDLE;
}
