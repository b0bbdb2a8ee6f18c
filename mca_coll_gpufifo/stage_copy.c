/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense layouts go as one copy, others by one launch of the copy kernel over a list of pieces in pinned memory.
 */
#include "mca_coll_gpufifo/stage_copy.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/module.h"

static void count_driver_call(void)
{
    atomic_fetch_add_explicit(&mca_coll_gpufifo_component.pvars.staging_driver_calls, 1, memory_order_relaxed);
}

/* Where gaps may be copied, the whole span goes if at most half of it is waste, or if it is short: 64 KiB cross the bus in less
 * time than it takes to list blocks and to launch a kernel. */
static bool whole_is_cheaper(const struct gf_layout_span *span, size_t bytes)
{
    return bytes <= 2 * span->bytes + (64u << 10);
}

/* Enough blocks to keep the device's link busy, not more: a block for 512 pieces or 64 KiB. */
static int blocks_for(const gf_device *device, size_t pieces, size_t bytes)
{
    size_t blocks = 1 + pieces / GF_BLOCK_THREADS + bytes / (64u << 10);

    return blocks < (size_t)device->caps.blocks ? (int)blocks : device->caps.blocks;
}

/* The list for the kernel, from the blocks. */
static gf_status write_pieces(struct gf_transfer *transfer, struct gf_stage_pool *pool, struct gf_reason *why)
{
    gf_device *device = gf_stage_pool_device(pool);
    const struct gf_block_list *blocks = &transfer->blocks;
    char *to = gf_device_kernel_address(device, transfer->to);
    const char *from = gf_device_kernel_address(device, transfer->from);
    void *pieces = NULL;

    if (!to || !from) {
        return GF_OK;   /* kernels cannot reach it: block by block, then */
    }
    gf_status status = gf_bounce_alloc(pool, blocks->count * sizeof *transfer->pieces, &pieces, why);
    if (status != GF_OK) {
        return status;
    }
    transfer->pieces = pieces;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct gf_block *block = &blocks->blocks[i];
        transfer->pieces[i] = (struct gf_piece){to + block->offset, from + block->offset, block->bytes};
    }
    return GF_OK;
}

static gf_status list_blocks(struct gf_transfer *transfer, const struct gf_layout *layout, ptrdiff_t low, struct gf_reason *why)
{
    gf_status status = gf_layout_list(layout, &transfer->blocks, why);

    for (size_t i = 0; i < transfer->blocks.count; i++) {
        transfer->blocks.blocks[i].offset -= low;
    }
    return status;
}

gf_status gf_transfer_plan(struct gf_transfer *transfer, const struct gf_layout *layout, enum gf_transfer_gaps gaps,
                           struct gf_stage_pool *pool, void *to, const void *from, struct gf_reason *why)
{
    struct gf_layout_span span = gf_layout_measure(layout);
    size_t bytes = (size_t)(span.high - span.low);

    *transfer = (struct gf_transfer){.to = gf_layout_address(to, span.low), .from = gf_layout_address(from, span.low),
                                     .bytes = bytes, .data_bytes = span.bytes};
    if (bytes == span.bytes || (gaps == GF_GAPS_COPY && whole_is_cheaper(&span, bytes))) {
        return GF_OK;
    }
    gf_status status = list_blocks(transfer, layout, span.low, why);
    if (status == GF_OK) {
        status = write_pieces(transfer, pool, why);
    }
    if (status != GF_OK) {
        gf_transfer_release(transfer, pool);
    }
    return status;
}

static gf_status launch_pieces(const struct gf_transfer *transfer, struct gf_stage_lane *lane, struct gf_reason *why)
{
    gf_device *device = lane->device;
    struct gf_copy_work work = {
        .task = {
            .ranks = 1,
            .abort = gf_device_kernel_address(device, &lane->words->abort),
            .blocks_done = gf_device_kernel_address(device, lane->blocks_done),
            .done = gf_device_kernel_address(device, &lane->words->done),
            .error = gf_device_kernel_address(device, &lane->words->error),
            .ticket = ++lane->ticket,
        },
        .pieces = gf_device_kernel_address(device, transfer->pieces),
        .count = transfer->blocks.count,
    };

    count_driver_call();
    return gf_device_launch(device, lane->stream, GF_KERNEL_COPY_LIST,
                            blocks_for(device, transfer->blocks.count, transfer->data_bytes), GF_BLOCK_THREADS,
                            &work, sizeof work, why);
}

static gf_status queue_copy(struct gf_stage_lane *lane, void *to, const void *from, size_t bytes, struct gf_reason *why)
{
    count_driver_call();
    gf_status status = gf_device_copy(lane->device, lane->stream, to, from, bytes);
    if (status != GF_OK) {
        gf_reason_set(why, "device %d cannot copy %zu bytes from %p to %p (%s): is the buffer as long as its count and "
                      "datatype say?", lane->device->ordinal, bytes, from, to, gf_status_string(status));
    }
    return status;
}

gf_status gf_transfer_queue(const struct gf_transfer *transfer, struct gf_stage_lane *lane, struct gf_reason *why)
{
    gf_status status = GF_OK;

    if (transfer->bytes == 0) {
        return GF_OK;
    }
    if (transfer->blocks.count == 0) {
        return queue_copy(lane, transfer->to, transfer->from, transfer->bytes, why);
    }
    if (transfer->pieces) {
        status = launch_pieces(transfer, lane, why);
        if (status != GF_ERR_UNSUPPORTED) {
            return status;
        }
    }
    status = GF_OK;
    for (size_t i = 0; i < transfer->blocks.count && status == GF_OK; i++) {
        const struct gf_block *block = &transfer->blocks.blocks[i];
        status = queue_copy(lane, transfer->to + block->offset, transfer->from + block->offset, block->bytes, why);
    }
    return status;
}

void gf_transfer_release(struct gf_transfer *transfer, struct gf_stage_pool *pool)
{
    if (transfer->pieces) {
        gf_bounce_free(pool, transfer->pieces, transfer->blocks.count * sizeof *transfer->pieces);
    }
    free(transfer->blocks.blocks);
    *transfer = (struct gf_transfer){0};
}
