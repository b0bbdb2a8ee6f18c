/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive ladder. From its top: what the kernel has taken makes room for what comes, in the same turn.
 */
#include <assert.h>

#include "kernels/mutants.h"
#include "proxy/stages.h"

bool gf_proxy_recv_holds(const struct gf_proxy_recv *r)
{
    return r->done <= r->ready && r->ready <= r->flushed && r->flushed <= r->arrived && r->arrived <= r->posted
        && r->posted <= r->done + r->depth;
}

static bool climb(struct gf_proxy_recv *r, gf_proxy_stage *stage, uint64_t *counter, uint64_t limit, bool *moved,
                  gf_status *status)
{
    bool going_on = gf_proxy_climb(stage, r->ctx, counter, limit, moved, status);

    assert(gf_proxy_recv_holds(r));
    return going_on;
}

/* Steps whose slots the peer may fill again. */
static uint64_t returned(const struct gf_proxy_recv *r)
{
    return GF_MUTANT == GF_MUTANT_COPY_EARLY_POST ? r->ready : r->done;
}

enum gf_proxy_turn gf_proxy_recv_turn(struct gf_proxy_recv *r, gf_status *status)
{
    const struct gf_proxy_recv_stages *stages = r->stages;
    uint64_t target = gf_host_observe(&r->target);
    bool moved = false;

    if (!climb(r, stages->finish, &r->done, r->ready, &moved, status)
        || !climb(r, stages->post, &r->posted, returned(r) + r->depth, &moved, status)
        || !climb(r, stages->flush, &r->flushed, r->arrived, &moved, status)
        || !climb(r, stages->ready, &r->ready, r->flushed, &moved, status)
        || !climb(r, stages->arrive, &r->arrived, r->posted, &moved, status)) {
        return GF_PROXY_IDLE;
    }
    return moved ? GF_PROXY_MOVED : r->done < target ? GF_PROXY_NEAR : GF_PROXY_IDLE;
}
