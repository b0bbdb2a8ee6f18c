/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense layouts go as one copy, others by one launch of a pack kernel, which knows the flat types (flatten.h).
 */
#include "mca_coll_gpufifo/stage_copy.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/flatten.h"
#include "mca_coll_gpufifo/memory_kind.h"

/* Where gaps may be copied, the whole span goes if at most half of it is waste, or if it is short: 64 KiB cross the bus in less
 * time than it takes to launch a kernel. */
static bool whole_is_cheaper(const struct gf_layout_span *span, size_t bytes)
{
    return bytes <= 2 * span->bytes + (64u << 10);
}

/* What is planned: a layout between two addresses that stand for its origin, or for the packed data. */
struct copy {
    const struct gf_layout *layout;
    struct gf_layout_span span;
    void *to;
    const void *from;
    bool to_packed, from_packed;
    size_t bytes;                      /* of data, from the first on */
};

/* Adds elements of a layout, to follow those before. */
static gf_status add_part(struct gf_transfer *transfer, const struct copy *copy, const struct gf_layout_part *part,
                          struct gf_stage_pool *pool, struct gf_reason *why)
{
    size_t before = transfer->bytes, all = part->count * part->type->super.size, rest = copy->bytes - before;
    struct gf_transfer_part *next = &transfer->parts[transfer->count];
    gf_status status = gf_flatten(gf_stage_pool_flattener(pool), (ompi_datatype_t *)part->type, &next->type, why);

    if (status == GF_OK) {
        next->copy = (struct gf_pack_copy){
            .to = gf_layout_address(copy->to, copy->to_packed ? (ptrdiff_t)before : part->offset),
            .from = gf_layout_address(copy->from, copy->from_packed ? (ptrdiff_t)before : part->offset),
            .to_packed = copy->to_packed, .from_packed = copy->from_packed, .count = part->count,
            .bytes = all < rest ? all : rest,
        };
        transfer->bytes += next->copy.bytes;
        transfer->count++;
    }
    return status;
}

/* Equal parts follow one another as the elements of one do. */
static bool is_one_part(const struct gf_layout *layout)
{
    return layout->kind == GF_LAYOUT_EQUAL && !layout->grid;
}

static gf_status add_parts(struct gf_transfer *transfer, const struct copy *copy, struct gf_stage_pool *pool,
                           struct gf_reason *why)
{
    const struct gf_layout *layout = copy->layout;
    int parts = layout->end - layout->begin;
    gf_status status = GF_OK;

    transfer->bytes = 0;
    transfer->parts = calloc((size_t)parts, sizeof *transfer->parts);
    if (!transfer->parts) {
        gf_reason_set(why, "no host memory to copy %d parts of a buffer", parts);
        return GF_ERR_NO_MEMORY;
    }
    for (int i = layout->begin; i < layout->end && transfer->bytes < copy->bytes && status == GF_OK; i++) {
        struct gf_layout_part part = gf_layout_part(layout, i);

        if (is_one_part(layout)) {
            part.count *= (size_t)parts;   /* the loop ends with this one: no data is left */
        }
        if (part.count > 0 && part.type->super.size > 0) {
            status = add_part(transfer, copy, &part, pool, why);
        }
    }
    return status;
}

/* One block, or what is left of one? */
static bool is_run(const struct gf_transfer *transfer, struct gf_pack_part *part)
{
    if (transfer->count > 1 || gf_flat_of(transfer->parts[0].type)->list.offsets) {
        return false;
    }
    *part = gf_pack_plan_part(gf_flat_of(transfer->parts[0].type), &transfer->parts[0].copy);
    return gf_pack_part_is_run(part);
}

static void free_parts(struct gf_transfer *transfer)
{
    for (size_t i = 0; i < transfer->count; i++) {
        gf_flat_type_release(transfer->parts[i].type);
    }
    free(transfer->parts);
    transfer->parts = NULL;
    transfer->count = 0;
}

/* What is asked for each block of a transfer, at its two ends. */
typedef gf_status (*visit_block)(void *ctx, char *to, const char *from, size_t bytes, struct gf_reason *why);

static gf_status visit_part(const struct gf_transfer_part *part, visit_block visit, void *ctx, struct gf_reason *why)
{
    const struct gf_flat *flat = gf_flat_of(part->type);
    const struct gf_pack_copy *copy = &part->copy;
    gf_status status = GF_OK;
    uint64_t done = 0;

    for (uint64_t number = 0; done < copy->bytes && status == GF_OK; number++) {
        struct gf_flat_block block = gf_flat_block(flat, number % flat->blocks);
        int64_t place = (int64_t)(number / flat->blocks) * flat->extent + block.offset;
        uint64_t rest = copy->bytes - done, bytes = block.bytes < rest ? block.bytes : rest;

        status = visit(ctx, gf_layout_address(copy->to, (ptrdiff_t)(copy->to_packed ? (int64_t)done : place)),
                       gf_layout_address(copy->from, (ptrdiff_t)(copy->from_packed ? (int64_t)done : place)), bytes, why);
        done += bytes;
    }
    return status;
}

static gf_status visit_blocks(const struct gf_transfer *transfer, visit_block visit, void *ctx, struct gf_reason *why)
{
    gf_status status = GF_OK;

    for (size_t i = 0; i < transfer->count && status == GF_OK; i++) {
        status = visit_part(&transfer->parts[i], visit, ctx, why);
    }
    return status;
}

static bool is_on_device(const char *start, struct gf_pointer *allocation)
{
    return gf_memory_query(start, allocation, NULL) == GF_OK && allocation->kind == GF_MEMORY_DEVICE;
}

static bool is_within(const struct gf_pointer *allocation, const char *start, size_t bytes)
{
    const char *base = allocation->base;

    return start >= base && bytes <= allocation->size && (size_t)(start - base) <= allocation->size - bytes;
}

/* The program's end of a copy, and the allocation that has the last block that was seen. */
struct user_end {
    bool is_to;
    struct gf_pointer allocation;
};

static gf_status look_at_block(void *ctx, char *to, const char *from, size_t bytes, struct gf_reason *why)
{
    struct user_end *end = ctx;
    const char *start = end->is_to ? to : from;
    (void)why;

    return is_within(&end->allocation, start, bytes) || is_on_device(start, &end->allocation) ? GF_OK : GF_ERR_UNSUPPORTED;
}

/* Types with absolute addresses may have data in host memory and on the device; all others are in one allocation, but for address
 * ranges that were mapped from several. What is packed, or not in device memory, is the bounce. */
static bool is_for_kernels(const struct gf_transfer *transfer, const struct copy *copy)
{
    const char *to = gf_layout_address(copy->to, copy->span.low), *from = gf_layout_address(copy->from, copy->span.low);
    struct user_end end = {.is_to = false};
    size_t span = (size_t)(copy->span.high - copy->span.low);

    if (copy->from_packed || !is_on_device(from, &end.allocation)) {
        end.is_to = true;
        if (copy->to_packed || !is_on_device(to, &end.allocation)) {
            return false;
        }
    }
    return is_within(&end.allocation, end.is_to ? to : from, span) || visit_blocks(transfer, look_at_block, &end, NULL) == GF_OK;
}

/* By how much kernel addresses differ from those of the program, where some byte of the data is; false: kernels do not reach
 * it. */
static bool find_shift(gf_device *device, const void *base, bool packed, ptrdiff_t low, uintptr_t *shift)
{
    const char *byte = gf_layout_address(base, packed ? 0 : low);
    const char *kernel = gf_device_kernel_address(device, byte);

    *shift = (uintptr_t)kernel - (uintptr_t)byte;
    return kernel != NULL;
}

/* The parts stay, block by block. */
static void drop_kernel_parts(struct gf_transfer *transfer, struct gf_stage_pool *pool)
{
    if (transfer->kernel_parts) {
        gf_bounce_free(pool, transfer->kernel_parts, transfer->count * sizeof *transfer->kernel_parts);
    }
    transfer->kernel_parts = NULL;
    transfer->tiles = 0;
}

static gf_status write_kernel_parts(struct gf_transfer *transfer, const struct copy *copy, struct gf_stage_pool *pool,
                                    struct gf_reason *why)
{
    gf_device *device = gf_stage_pool_device(pool);
    gf_status status = GF_OK;
    uintptr_t to, from;
    void *memory;

    if (!is_for_kernels(transfer, copy) || !find_shift(device, copy->to, copy->to_packed, copy->span.low, &to) ||
        !find_shift(device, copy->from, copy->from_packed, copy->span.low, &from)) {
        return GF_OK;   /* block by block, then */
    }
    status = gf_bounce_alloc(pool, transfer->count * sizeof *transfer->kernel_parts, &memory, why);
    if (status != GF_OK) {
        return status;
    }
    transfer->kernel_parts = memory;
    for (size_t i = 0; i < transfer->count && status == GF_OK; i++) {
        struct gf_pack_copy part = transfer->parts[i].copy;

        status = gf_flat_type_list(transfer->parts[i].type, pool, &part.list, why);
        part.to = (char *)((uintptr_t)part.to + to);
        part.from = (const char *)((uintptr_t)part.from + from);
        transfer->kernel_parts[i] = gf_pack_plan_part(gf_flat_of(transfer->parts[i].type), &part);
        transfer->kernel_parts[i].first_tile = transfer->tiles;
        transfer->tiles += gf_pack_part_tiles(&transfer->kernel_parts[i]);
    }
    if (status == GF_ERR_NO_MEMORY) {   /* the device has no room for a list of blocks */
        drop_kernel_parts(transfer, pool);
        return GF_OK;
    }
    return status;
}

/* The transfer is empty. */
static gf_status plan_parts(struct gf_transfer *transfer, const struct copy *copy, struct gf_stage_pool *pool,
                            struct gf_reason *why)
{
    gf_status status = add_parts(transfer, copy, pool, why);
    struct gf_pack_part run;

    if (status == GF_OK && is_run(transfer, &run)) {
        free_parts(transfer);
        transfer->to = run.to;
        transfer->from = run.from;
        return GF_OK;
    }
    if (status == GF_OK) {
        status = write_kernel_parts(transfer, copy, pool, why);
    }
    if (status != GF_OK) {
        gf_transfer_release(transfer, pool);
    }
    return status;
}

gf_status gf_transfer_plan(struct gf_transfer *transfer, const struct gf_layout *layout, enum gf_transfer_gaps gaps,
                           struct gf_stage_pool *pool, void *to, const void *from, struct gf_reason *why)
{
    struct gf_layout_span span = gf_layout_measure(layout);
    struct copy copy = {.layout = layout, .span = span, .to = to, .from = from, .bytes = span.bytes};
    size_t bytes = (size_t)(span.high - span.low);

    *transfer = (struct gf_transfer){.to = gf_layout_address(to, span.low), .from = gf_layout_address(from, span.low),
                                     .bytes = bytes};
    if (bytes == span.bytes || (gaps == GF_GAPS_COPY && whole_is_cheaper(&span, bytes))) {
        return GF_OK;
    }
    return plan_parts(transfer, &copy, pool, why);
}

/* Data without gaps, in the order of their addresses: what most programs have needs no description. */
static bool is_plain(const struct gf_layout *layout)
{
    return is_one_part(layout) && opal_datatype_is_contiguous_memory_layout(&layout->type->super, layout->count > 1 ? 2 : 1);
}

static gf_status plan_packed(struct gf_transfer *transfer, const struct copy *copy, struct gf_stage_pool *pool,
                             struct gf_reason *why)
{
    *transfer = (struct gf_transfer){
        .to = gf_layout_address(copy->to, copy->to_packed ? 0 : copy->span.low),
        .from = gf_layout_address(copy->from, copy->from_packed ? 0 : copy->span.low), .bytes = copy->bytes,
    };
    return copy->bytes == 0 || is_plain(copy->layout) ? GF_OK : plan_parts(transfer, copy, pool, why);
}

gf_status gf_transfer_pack(struct gf_transfer *transfer, const struct gf_layout *layout, struct gf_stage_pool *pool,
                           void *packed, const void *user, struct gf_reason *why)
{
    struct gf_layout_span span = gf_layout_measure(layout);
    struct copy copy = {.layout = layout, .span = span, .to = packed, .from = user, .to_packed = true, .bytes = span.bytes};

    return plan_packed(transfer, &copy, pool, why);
}

gf_status gf_transfer_unpack(struct gf_transfer *transfer, const struct gf_layout *layout, struct gf_stage_pool *pool,
                             void *user, const void *packed, size_t bytes, struct gf_reason *why)
{
    struct gf_layout_span span = gf_layout_measure(layout);
    struct copy copy = {.layout = layout, .span = span, .to = user, .from = packed, .from_packed = true,
                        .bytes = bytes < span.bytes ? bytes : span.bytes};

    return plan_packed(transfer, &copy, pool, why);
}

static gf_status launch_parts(const struct gf_transfer *transfer, struct gf_stage_lane *lane, struct gf_reason *why)
{
    gf_device *device = lane->device;
    int blocks = gf_pack_plan_blocks(transfer->tiles, device->caps.blocks);
    gf_status status = gf_lane_count_blocks(lane, why);

    if (status != GF_OK) {
        return status == GF_ERR_NO_MEMORY ? GF_ERR_UNSUPPORTED : status;
    }
    gf_pvars_count_driver_call(&mca_coll_gpufifo_component.pvars);
    if (transfer->count == 1) {
        struct gf_pack_work one = {.task = gf_lane_task(lane), .part = transfer->kernel_parts[0]};

        return gf_device_launch(device, lane->stream, GF_KERNEL_PACK, blocks, GF_BLOCK_THREADS, &one, sizeof one, why);
    }
    struct gf_pack_list_work list = {
        .task = gf_lane_task(lane), .parts = gf_device_kernel_address(device, transfer->kernel_parts), .count = transfer->count,
        .tiles = transfer->tiles,
    };
    return gf_device_launch(device, lane->stream, GF_KERNEL_PACK_LIST, blocks, GF_BLOCK_THREADS, &list, sizeof list, why);
}

static gf_status queue_copy(void *ctx, char *to, const char *from, size_t bytes, struct gf_reason *why)
{
    struct gf_stage_lane *lane = ctx;

    gf_pvars_count_driver_call(&mca_coll_gpufifo_component.pvars);
    gf_status status = gf_device_copy(lane->device, lane->stream, to, from, bytes);
    if (status != GF_OK) {
        gf_reason_set(why, "device %d cannot copy %zu bytes from %p to %p (%s): is the buffer as long as its count and "
                      "datatype say?", lane->device->ordinal, bytes, (const void *)from, (void *)to, gf_status_string(status));
    }
    return status;
}

bool gf_transfer_at_once(const struct gf_transfer *transfer, struct gf_stage_pool *pool)
{
    if (transfer->parts || transfer->bytes > GF_AT_ONCE_BYTES ||
        gf_device_copy_at_once(gf_stage_pool_device(pool), transfer->to, transfer->from, transfer->bytes) != GF_OK) {
        return false;
    }
    gf_pvars_count_driver_call(&mca_coll_gpufifo_component.pvars);
    return true;
}

gf_status gf_transfer_queue(const struct gf_transfer *transfer, struct gf_stage_lane *lane, struct gf_reason *why)
{
    gf_status status;

    if (transfer->bytes == 0) {
        return GF_OK;
    }
    if (!transfer->parts) {
        return queue_copy(lane, transfer->to, transfer->from, transfer->bytes, why);
    }
    if (transfer->kernel_parts) {
        status = launch_parts(transfer, lane, why);
        if (status != GF_ERR_UNSUPPORTED) {
            return status;
        }
    }
    return visit_blocks(transfer, queue_copy, lane, why);
}

void gf_transfer_release(struct gf_transfer *transfer, struct gf_stage_pool *pool)
{
    drop_kernel_parts(transfer, pool);
    free_parts(transfer);
    *transfer = (struct gf_transfer){0};
}
