/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense layouts go as one copy, others by one launch of the copy kernel over a list of pieces in pinned memory.
 */
#include "mca_coll_gpufifo/stage_copy.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/memory_kind.h"

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

/* A block at one end: at its offset, or where it follows those before it. */
static ptrdiff_t place(bool packed, const struct gf_block *block, size_t before)
{
    return packed ? (ptrdiff_t)before : block->offset;
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
    for (size_t i = 0, before = 0; i < blocks->count; before += blocks->blocks[i++].bytes) {
        const struct gf_block *block = &blocks->blocks[i];
        transfer->pieces[i] = (struct gf_piece){to + place(transfer->to_packed, block, before),
                                                from + place(transfer->from_packed, block, before), block->bytes};
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

/* The predefined types without padding, which need no list to be known as one block. */
static bool is_plain(const struct gf_layout *layout)
{
    const opal_datatype_t *type = &layout->type->super;

    return layout->kind == GF_LAYOUT_EQUAL && ompi_datatype_is_predefined(layout->type) && type->lb == 0 && type->true_lb == 0 &&
           (size_t)type->ub == type->size;
}

/* Drops what lies behind the first `bytes` of data. */
static void cut(struct gf_block_list *list, size_t bytes)
{
    size_t count = 0;

    for (; count < list->count && bytes > 0; count++) {
        if (list->blocks[count].bytes > bytes) {
            list->blocks[count].bytes = bytes;
        }
        bytes -= list->blocks[count].bytes;
    }
    list->count = count;
}

/* Are all blocks in device memory? They are, but for types with absolute addresses. */
static bool is_on_device(const struct gf_block_list *blocks, const char *start)
{
    struct gf_pointer info;
    size_t high = 0;

    for (size_t i = 0; i < blocks->count; i++) {
        size_t end = (size_t)blocks->blocks[i].offset + blocks->blocks[i].bytes;
        high = end > high ? end : high;
    }
    if (gf_memory_query(start, &info, NULL) == GF_OK && info.kind == GF_MEMORY_DEVICE &&
        high <= info.size - (size_t)(start - (const char *)info.base)) {
        return true;
    }
    for (size_t i = 0; i < blocks->count; i++) {
        if (gf_memory_query(start + blocks->blocks[i].offset, &info, NULL) != GF_OK || info.kind != GF_MEMORY_DEVICE) {
            return false;
        }
    }
    return true;
}

/* The transfer has its ends and the number of bytes; one end is packed, *strided is the other. */
static gf_status plan_packed(struct gf_transfer *transfer, const struct gf_layout *layout, ptrdiff_t low,
                             struct gf_stage_pool *pool, char **strided, struct gf_reason *why)
{
    gf_status status = GF_OK;

    if (transfer->bytes == 0 || is_plain(layout)) {
        return GF_OK;
    }
    status = list_blocks(transfer, layout, low, why);
    cut(&transfer->blocks, transfer->bytes);
    if (status == GF_OK && transfer->blocks.count == 1) {
        *strided += transfer->blocks.blocks[0].offset;
        free(transfer->blocks.blocks);
        transfer->blocks = (struct gf_block_list){0};
        return GF_OK;
    }
    if (status == GF_OK && is_on_device(&transfer->blocks, *strided)) {
        status = write_pieces(transfer, pool, why);
    }
    if (status != GF_OK) {
        gf_transfer_release(transfer, pool);
    }
    return status;
}

gf_status gf_transfer_pack(struct gf_transfer *transfer, const struct gf_layout *layout, struct gf_stage_pool *pool,
                           void *packed, const void *user, struct gf_reason *why)
{
    struct gf_layout_span span = gf_layout_measure(layout);

    *transfer = (struct gf_transfer){.to = packed, .from = gf_layout_address(user, span.low), .bytes = span.bytes,
                                     .data_bytes = span.bytes, .to_packed = true};
    return plan_packed(transfer, layout, span.low, pool, (char **)&transfer->from, why);
}

gf_status gf_transfer_unpack(struct gf_transfer *transfer, const struct gf_layout *layout, struct gf_stage_pool *pool,
                             void *user, const void *packed, size_t bytes, struct gf_reason *why)
{
    struct gf_layout_span span = gf_layout_measure(layout);

    if (bytes > span.bytes) {
        bytes = span.bytes;
    }
    *transfer = (struct gf_transfer){.to = gf_layout_address(user, span.low), .from = packed, .bytes = bytes,
                                     .data_bytes = bytes, .from_packed = true};
    return plan_packed(transfer, layout, span.low, pool, &transfer->to, why);
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
    const struct gf_block *blocks = transfer->blocks.blocks;
    for (size_t i = 0, before = 0; i < transfer->blocks.count && status == GF_OK; before += blocks[i++].bytes) {
        status = queue_copy(lane, transfer->to + place(transfer->to_packed, &blocks[i], before),
                            transfer->from + place(transfer->from_packed, &blocks[i], before), blocks[i].bytes, why);
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
