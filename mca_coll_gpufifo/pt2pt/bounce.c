/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making the host copy of a message, and the copies to and from it.
 */
#include "mca_coll_gpufifo/pt2pt/bounce.h"

#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/memory_kind.h"

static struct gf_landings *the_landings(void)
{
    return mca_coll_gpufifo_component.pt2pt.landings;
}

gf_status gf_pt2pt_bounce_open(struct gf_pt2pt_bounce *bounce, const void *user, size_t count, ompi_datatype_t *type,
                               const struct gf_pointer *where, struct gf_reason *why)
{
    gf_status status = GF_OK;

    bounce->user = (void *)user;
    bounce->layout = gf_layout_equal(1, count, type);
    bounce->where = *where;
    bounce->bytes = count * type->super.size;
    if (where->kind != GF_MEMORY_DEVICE) {
        status = gf_pt2pt_bounce_renew(bounce, why);
    }
    return status == GF_OK ? gf_stage_pool_get(mca_coll_gpufifo_component.staging, bounce->where.ordinal, &bounce->pool, why)
                           : status;
}

gf_status gf_pt2pt_bounce_renew(struct gf_pt2pt_bounce *bounce, struct gf_reason *why)
{
    ptrdiff_t offset = 0;

    gf_layout_any_byte(&bounce->layout, &offset);
    return gf_memory_query(gf_layout_address(bounce->user, offset), &bounce->where, why);
}

char *gf_pt2pt_bounce_run(const struct gf_pt2pt_bounce *bounce)
{
    const opal_datatype_t *type = &bounce->layout.type->super;

    return opal_datatype_is_contiguous_memory_layout(type, bounce->layout.count > 1 ? 2 : 1)
               ? gf_layout_address(bounce->user, type->true_lb) : NULL;
}

static void give_memory_back(struct gf_pt2pt_bounce *bounce)
{
    if (bounce->landing) {
        gf_landing_put(the_landings(), bounce->landing);
    } else if (bounce->piece) {
        gf_device_memory_free(gf_stage_pool_memory(bounce->pool), bounce->piece);
    } else if (bounce->memory) {
        gf_bounce_free(bounce->pool, bounce->memory, bounce->room);
    }
    bounce->memory = NULL;
    bounce->room = 0;
    bounce->landing = NULL;
    bounce->piece = NULL;
}

static bool is_on_host(const struct gf_pt2pt_bounce *bounce)
{
    return bounce->memory && !bounce->piece;
}

static bool is_pageable(const struct gf_pt2pt_bounce *bounce)
{
    return bounce->landing && !bounce->landing->device;
}

gf_status gf_pt2pt_bounce_pin(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why)
{
    gf_status status;

    if (is_on_host(bounce) && !is_pageable(bounce) && bounce->room >= bytes) {
        return GF_OK;
    }
    give_memory_back(bounce);
    status = gf_bounce_alloc(bounce->pool, bytes, &bounce->memory, why);
    bounce->room = status == GF_OK ? bytes : 0;
    return status;
}

gf_status gf_pt2pt_bounce_near(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why)
{
    size_t least = mca_coll_gpufifo_component.pack_bytes;
    gf_status status;

    if (gf_pt2pt_bounce_run(bounce) || least == 0 || bytes < least) {
        gf_reason_set(why, "its datatype has gaps, and they are fewer than coll_gpufifo_pack_bytes");
        return GF_ERR_UNSUPPORTED;
    }
    if (bounce->piece && bounce->room >= bytes) {
        return GF_OK;
    }
    give_memory_back(bounce);
    status = gf_device_memory_alloc(gf_stage_pool_memory(bounce->pool), bytes, &bounce->piece, why);
    if (status != GF_OK) {
        return status;
    }
    bounce->memory = bounce->piece->address;
    bounce->room = bounce->piece->bytes;
    return gf_memory_query(bounce->memory, &bounce->near, why);
}

const char *gf_pt2pt_bounce_source(const struct gf_pt2pt_bounce *bounce, const struct gf_pointer **where)
{
    const char *run = gf_pt2pt_bounce_run(bounce);

    *where = run ? &bounce->where : &bounce->near;
    return run ? run : bounce->piece ? bounce->memory : NULL;
}

gf_status gf_pt2pt_bounce_land(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why)
{
    gf_status status;

    if (bounce->landing && bounce->room >= bytes) {
        return GF_OK;
    }
    give_memory_back(bounce);
    status = gf_landing_get(the_landings(), gf_stage_pool_device(bounce->pool), bytes, &bounce->landing, why);
    if (status == GF_OK) {
        bounce->memory = bounce->landing->memory;
        bounce->room = bounce->landing->room;
    }
    return status;
}

void gf_pt2pt_bounce_overrun(struct gf_pt2pt_bounce *bounce)
{
    if (bounce->landing) {
        bounce->landing->filled = bounce->landing->room + 1;
    }
}

/* What came is pageable memory, which kernels do not reach. */
static gf_status move_to_pinned(struct gf_pt2pt_bounce *bounce, size_t bytes, struct gf_reason *why)
{
    void *memory;
    gf_status status = gf_bounce_alloc(bounce->pool, bytes, &memory, why);

    if (status == GF_OK) {
        memcpy(memory, bounce->memory, bytes);
        give_memory_back(bounce);
        bounce->memory = memory;
        bounce->room = bytes;
    }
    return status;
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
    gf_status status = GF_OK;

    if (bounce->landing && bounce->landing->filled < bytes) {
        bounce->landing->filled = bytes;
    }
    if (is_pageable(bounce) && !gf_pt2pt_bounce_run(bounce)) {
        status = move_to_pinned(bounce, bytes, why);
    }
    if (status == GF_OK) {
        status = gf_transfer_unpack(&bounce->transfer, &bounce->layout, bounce->pool, bounce->user, bounce->memory, bytes, why);
    }
    return status == GF_OK ? queue(bounce, why) : status;
}

static gf_status explain(gf_status status, struct gf_reason *why)
{
    if (status < 0) {
        gf_reason_set(why, "a copy between a buffer in device memory and its packed copy ended with \"%s\"; "
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
    if (bounce->transfer.bytes > 0) {
        gf_transfer_release(&bounce->transfer, bounce->pool);
    }
    return status;
}

void gf_pt2pt_bounce_close(struct gf_pt2pt_bounce *bounce)
{
    struct gf_reason why;

    gf_pt2pt_bounce_finish(bounce, &why);
    give_memory_back(bounce);
    bounce->pool = NULL;
}
