/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One adapter of a wire, and what is of it alone: it fails without the others.
 */
#include "transport/verbs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

void gf_verbs_rail_close(struct gf_verbs_rail *rail)
{
    gf_verbs_lanes_end(rail);
    gf_verbs_queue_retire(&rail->loopback);
    gf_verbs_queue_destroy(&rail->loopback);
    if (rail->sink_memory) {
        ibv_dereg_mr(rail->sink_memory);
    }
    if (rail->ends) {
        ibv_destroy_cq(rail->ends);
    }
    if (rail->domain) {
        ibv_dealloc_pd(rail->domain);
    }
    gf_verbs_adapter_close(&rail->adapter);
    pthread_mutex_destroy(&rail->lock);
}

static gf_status connect_loopback(struct gf_verbs_rail *rail, struct gf_reason *why)
{
    struct gf_verbs_end self;
    gf_status status = gf_verbs_queue_create(rail, &rail->loopback, why);

    if (status == GF_OK) {
        gf_verbs_end_describe(&rail->loopback, 1, &self);
        status = gf_verbs_queue_connect(&rail->loopback, &self, 0, why);
    }
    return status;
}

gf_status gf_verbs_rail_open(struct gf_verbs_rail *rail, struct gf_reason *why)
{
    struct ibv_context *context = rail->adapter.context;
    int flags = fcntl(context->async_fd, F_GETFL);

    if (flags < 0 || fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        gf_reason_set(why, "%s: its events cannot be polled: %s", rail->name, strerror(errno));
        return GF_ERR_SYSTEM;
    }
    rail->domain = ibv_alloc_pd(context);
    rail->ends = rail->domain ? ibv_create_cq(context, GF_VERBS_SENDS + GF_VERBS_RECEIVES, NULL, NULL, 0) : NULL;
    rail->sink_memory = rail->ends ? ibv_reg_mr(rail->domain, rail->sink, sizeof rail->sink, GF_VERBS_ACCESS) : NULL;
    if (!rail->sink_memory) {
        gf_reason_set(why, "%s: no completion queue or registered memory can be made: %s%s", rail->name, strerror(errno),
                      errno == ENOMEM ? " (raise the limit of locked memory, ulimit -l)" : "");
        return GF_ERR_NO_MEMORY;
    }
    return connect_loopback(rail, why);
}
