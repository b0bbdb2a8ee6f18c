/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making the host copy of a message, and the copies to and from it.
 */
#include "mca_coll_gpufifo/pt2pt/bounce.h"

#include "mca_coll_gpufifo/memory_kind.h"

gf_status gf_pt2pt_bounce_open(struct gf_pt2pt_bounce *bounce, const void *user, size_t count, ompi_datatype_t *type,
                               struct gf_reason *why)
{
    struct gf_pointer info;
    ptrdiff_t offset = 0;
    gf_status status;

    *bounce = (struct gf_pt2pt_bounce){.user = (void *)user, .layout = gf_layout_equal(1, count, type)};
    bounce->bytes = gf_layout_measure(&bounce->layout).bytes;
    gf_layout_any_byte(&bounce->layout, &offset);
    status = gf_memory_query(gf_layout_address(user, offset), &info, why);
    if (status == GF_OK) {
        status = gf_stage_pool_get(mca_coll_gpufifo_component.staging, info.ordinal, &bounce->pool, why);
    }
    return status == GF_OK ? gf_bounce_alloc(bounce->pool, bounce->bytes, &bounce->memory, why) : status;
}

/* Queues the planned copy in a stream of its own. */
static gf_status queue(struct gf_pt2pt_bounce *bounce, struct gf_reason *why)
{
    gf_status status = gf_lane_acquire(bounce->pool, &bounce->lane, why);

    return status == GF_OK ? gf_transfer_queue(&bounce->transfer, bounce->lane, why) : status;
}

gf_status gf_pt2pt_bounce_load(struct gf_pt2pt_bounce *bounce, struct gf_reason *why)
{
    gf_status status = gf_transfer_pack(&bounce->transfer, &bounce->layout, bounce->pool, bounce->memory, bounce->user, why);
    struct gf_reason later;

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_PT2PT_STAGED, bounce->bytes);
    if (status == GF_OK) {
        status = queue(bounce, why);
    }
    if (status != GF_OK) {
        gf_pt2pt_bounce_finish(bounce, &later);
        return status;
    }
    return gf_pt2pt_bounce_finish(bounce, why);
}

gf_status gf_pt2pt_bounce_store(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why)
{
    gf_status status = gf_transfer_unpack(&bounce->transfer, &bounce->layout, bounce->pool, bounce->user, bounce->memory,
                                          bytes, why);

    gf_pvars_count(&mca_coll_gpufifo_component.pvars, GF_PATH_PT2PT_STAGED, bytes);
    return status == GF_OK ? queue(bounce, why) : status;
}

static gf_status explain(gf_status status, struct gf_reason *why)
{
    if (status < 0) {
        gf_reason_set(why, "a copy between a buffer in device memory and the host ended with \"%s\"; "
                           "was the buffer freed before the message was complete?", gf_status_string(status));
    }
    return status;
}

gf_status gf_pt2pt_bounce_poll(struct gf_pt2pt_bounce *bounce, struct gf_reason *why)
{
    return bounce->lane ? explain(gf_device_stream_query(bounce->lane->device, bounce->lane->stream), why) : GF_OK;
}

gf_status gf_pt2pt_bounce_finish(struct gf_pt2pt_bounce *bounce, struct gf_reason *why)
{
    gf_status status = GF_OK;

    if (bounce->lane) {
        status = explain(gf_device_stream_sync(bounce->lane->device, bounce->lane->stream), why);
        gf_lane_release(bounce->lane);
        bounce->lane = NULL;
    }
    if (bounce->pool) {
        gf_transfer_release(&bounce->transfer, bounce->pool);
    }
    return status;
}

void gf_pt2pt_bounce_close(struct gf_pt2pt_bounce *bounce)
{
    struct gf_reason why;

    gf_pt2pt_bounce_finish(bounce, &why);
    if (bounce->memory) {
        gf_bounce_free(bounce->pool, bounce->memory, bounce->bytes);
    }
    *bounce = (struct gf_pt2pt_bounce){0};
}
