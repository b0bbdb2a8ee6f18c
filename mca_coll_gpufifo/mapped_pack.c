/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packed copies of data with gaps, in device memory that is kept between calls, so that peers find what they have mapped.
 */
#include "mca_coll_gpufifo/mapped_pack.h"

#include "mca_coll_gpufifo/device_memory.h"

/* The pool of the device that has the layout's data. */
static const char *find_pool(struct gf_mapped_packing *packing, const struct gf_stage_buffer *buffer,
                             const struct gf_layout *layout)
{
    struct gf_stage_pool *pool;
    struct gf_pointer where;
    ptrdiff_t offset;

    if (!gf_layout_any_byte(layout, &offset) || !gf_memory_locate(gf_layout_address(buffer->user, offset), &where) ||
        where.kind != GF_MEMORY_DEVICE) {
        return "this rank's data with gaps are not in device memory";
    }
    if (gf_stage_pool_get(mca_coll_gpufifo_component.staging, where.ordinal, &pool, NULL) != GF_OK) {
        return "this rank's data have gaps, and its device cannot be opened";
    }
    if (packing->pool && packing->pool != pool) {
        return "this rank's buffers are on two devices";
    }
    packing->pool = pool;
    return NULL;
}

static const char *get_memory(struct gf_mapped_packing *packing, const struct gf_layout *layout, struct gf_device_piece **piece)
{
    struct gf_device_memory *memory = gf_stage_pool_memory(packing->pool);
    struct gf_reason ignored;
    gf_status status = gf_device_memory_alloc(memory, gf_layout_measure(layout).bytes, piece, &ignored);

    return status == GF_OK ? NULL : "this rank's data have gaps, and its device has no memory left to pack them";
}

/* One launch does it. Where data is in memory of several kinds, or kernels do not reach it, it would take a copy a block. */
static bool is_one_launch(gf_status planned, const struct gf_transfer *transfer)
{
    return planned == GF_OK && (!transfer->parts || transfer->kernel_parts);
}

static const char *plan_pack(struct gf_mapped_packing *packing, const struct gf_stage_buffer *buffer,
                             struct gf_device_piece *piece)
{
    struct gf_reason ignored;
    gf_status status = gf_transfer_pack(&packing->pack, &buffer->in, packing->pool, piece->address, buffer->user, &ignored);

    return is_one_launch(status, &packing->pack) ? NULL : "a kernel cannot pack this rank's data, which have gaps";
}

const char *gf_mapped_pack_plan_send(struct gf_mapped_packing *packing, const struct gf_stage_buffer *buffer)
{
    const char *against = find_pool(packing, buffer, &buffer->in);

    against = against ? against : get_memory(packing, &buffer->in, &packing->send);
    return against ? against : plan_pack(packing, buffer, packing->send);
}

const char *gf_mapped_pack_plan_recv(struct gf_mapped_packing *packing, const struct gf_stage_buffer *buffer, bool swaps)
{
    const char *against = find_pool(packing, buffer, &buffer->out);
    struct gf_reason ignored;

    against = against ? against : get_memory(packing, &buffer->out, &packing->recv);
    against = against || !swaps ? against : plan_pack(packing, buffer, packing->recv);
    if (against) {
        return against;
    }
    gf_status status = gf_transfer_unpack(&packing->unpack, &buffer->out, packing->pool, buffer->user, packing->recv->address,
                                          SIZE_MAX, &ignored);

    return is_one_launch(status, &packing->unpack) ? NULL : "a kernel cannot unpack this rank's data, which have gaps";
}

/* Is it at its end? By `check`, which asks, or waits. */
static gf_status end(struct gf_mapped_packing *packing, gf_status (*check)(gf_device *, gf_stream *), struct gf_reason *why)
{
    struct gf_stage_lane *lane = packing->lane;
    gf_status status = lane ? check(lane->device, lane->stream) : GF_OK;

    if (status == GF_IN_PROGRESS) {
        return status;
    }
    if (status != GF_OK) {
        gf_reason_set(why, "packing data with gaps ended with \"%s\"", gf_status_string(status));
    }
    if (lane) {
        gf_lane_release(lane);
    }
    packing->lane = NULL;
    return status;
}

static gf_status begin(struct gf_mapped_packing *packing, const struct gf_transfer *transfer, struct gf_reason *why)
{
    if (transfer->bytes == 0) {
        return GF_OK;
    }
    gf_status status = gf_lane_acquire(packing->pool, &packing->lane, why);

    if (status != GF_OK) {
        packing->lane = NULL;
        return status;
    }
    status = gf_transfer_queue(transfer, packing->lane, why);
    if (status != GF_OK) {
        struct gf_reason ignored;

        end(packing, gf_device_stream_sync, &ignored);
    }
    return status;
}

static gf_status run(struct gf_mapped_packing *packing, const struct gf_transfer *transfer, struct gf_reason *why)
{
    gf_status status = begin(packing, transfer, why);

    return status == GF_OK ? end(packing, gf_device_stream_sync, why) : status;
}

static gf_status poll(struct gf_mapped_packing *packing, const struct gf_transfer *transfer, struct gf_reason *why)
{
    gf_status status = packing->lane ? GF_OK : begin(packing, transfer, why);

    return status == GF_OK ? end(packing, gf_device_stream_query, why) : status;
}

gf_status gf_mapped_pack(struct gf_mapped_packing *packing, struct gf_reason *why)
{
    return run(packing, &packing->pack, why);
}

gf_status gf_mapped_unpack(struct gf_mapped_packing *packing, struct gf_reason *why)
{
    return run(packing, &packing->unpack, why);
}

gf_status gf_mapped_pack_poll(struct gf_mapped_packing *packing, struct gf_reason *why)
{
    return poll(packing, &packing->pack, why);
}

gf_status gf_mapped_unpack_poll(struct gf_mapped_packing *packing, struct gf_reason *why)
{
    return poll(packing, &packing->unpack, why);
}

void gf_mapped_pack_release(struct gf_mapped_packing *packing)
{
    if (!packing->pool) {
        return;
    }
    struct gf_device_memory *memory = gf_stage_pool_memory(packing->pool);
    struct gf_reason ignored;

    end(packing, gf_device_stream_sync, &ignored);
    gf_transfer_release(&packing->pack, packing->pool);
    gf_transfer_release(&packing->unpack, packing->pool);
    if (packing->send) {
        gf_device_memory_free(memory, packing->send);
    }
    if (packing->recv) {
        gf_device_memory_free(memory, packing->recv);
    }
    *packing = (struct gf_mapped_packing){0};
}
