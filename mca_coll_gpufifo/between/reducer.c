/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and launches of a rank that reduces.
 */
#include "mca_coll_gpufifo/between/reducer.h"

#include "core/fault.h"
#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/mapped_buffer.h"
#include "mca_coll_gpufifo/stage_pool.h"

/* Parts begin at multiples of so many elements, so that kernels can load whole vectors. */
enum { ALIGNMENT = 32, BYTES_A_BLOCK = 64 << 10 };

struct gf_part gf_part_split(struct gf_part whole, enum gf_type type, int parts, int i)
{
    size_t step = gf_type_size(type) * ALIGNMENT, each = (whole.bytes / (size_t)parts + step - 1) / step * step;
    size_t begin = (size_t)i * each, end = begin + each;

    begin = begin < whole.bytes ? begin : whole.bytes;
    end = end < whole.bytes && i < parts - 1 ? end : whole.bytes;
    return (struct gf_part){whole.offset + begin, end - begin};
}

const char *gf_reducer_obstacle(const struct gf_reducer *reducer, const struct gf_mapped_buffer *send,
                                const struct gf_mapped_buffer *recv)
{
    gf_device *device = gf_component_device(send->where.ordinal, NULL);

    if (!device || (gf_type_is_host_only(reducer->type) && !device->caps.host_types)) {
        return "its type is none that the device knows";
    }
    if (reducer->op == GF_REPLACE || reducer->op == GF_NO_OP) {
        return "its operation is about the order of ranks, which messages do not keep";
    }
    if (!gf_device_kernel_address(device, send->address) ||
        (recv->address && !gf_device_kernel_address(device, recv->address))) {
        return "kernels cannot reach its buffers";
    }
    return NULL;
}

static gf_status get_memory(struct gf_reducer *reducer, size_t bytes, struct gf_reason *why)
{
    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_DEVICE_ALLOC, why)) {
        return GF_ERR_NO_MEMORY;
    }
    return gf_device_memory_alloc(gf_stage_pool_memory(reducer->pool), bytes, &reducer->piece, why);
}

static const char *get_scratch(struct gf_reducer *reducer, size_t bytes)
{
    struct gf_reason ignored;

    if (bytes == 0) {
        return NULL;
    }
    if (get_memory(reducer, bytes, &ignored) != GF_OK) {
        reducer->piece = NULL;
        return "there is no device memory for what other ranks send";
    }
    reducer->scratch = (struct gf_mapped_buffer){.address = reducer->piece->address, .bytes = bytes};
    return gf_mapped_buffer_locate(&reducer->scratch) ? NULL : "device memory of ours is not to be found";
}

const char *gf_reducer_prepare(struct gf_reducer *reducer, int ordinal, size_t scratch_bytes)
{
    static const char none[] = "there is no memory to launch its kernels with";
    struct gf_reason ignored;

    if (gf_stage_pool_get(mca_coll_gpufifo_component.staging, ordinal, &reducer->pool, &ignored) != GF_OK ||
        gf_lane_acquire(reducer->pool, &reducer->lane, &ignored) != GF_OK) {
        reducer->lane = NULL;
        return none;
    }
    return gf_lane_count_blocks(reducer->lane, &ignored) == GF_OK ? get_scratch(reducer, scratch_bytes) : none;
}

void gf_reducer_release(struct gf_reducer *reducer)
{
    if (reducer->piece) {
        gf_device_memory_free(gf_stage_pool_memory(reducer->pool), reducer->piece);
        reducer->piece = NULL;
    }
    if (reducer->lane) {
        gf_lane_release(reducer->lane);
        reducer->lane = NULL;
    }
}

static void *kernel_address(gf_device *device, const void *user)
{
    return gf_device_kernel_address(device, user);
}

/* One launch, and its end. */
static gf_status launch(struct gf_reducer *reducer, struct gf_local_work *work, struct gf_reason *why)
{
    struct gf_stage_lane *lane = reducer->lane;
    size_t blocks = work->count * gf_type_size(reducer->type) / BYTES_A_BLOCK + 1, most = (size_t)lane->device->caps.blocks;

    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_LAUNCH, why)) {
        return GF_ERR_DEVICE;
    }
    work->task = gf_lane_task(lane);
    gf_status status = gf_device_launch(lane->device, lane->stream, GF_KERNEL_REDUCE_LOCAL, (int)(blocks < most ? blocks : most),
                                        GF_BLOCK_THREADS, work, sizeof *work, why);

    return status == GF_OK ? gf_device_stream_sync(lane->device, lane->stream) : status;
}

/* More inputs than a kernel takes go by several, each going on with the result so far. That lies in place of an input that is
 * used up, for `to` may be the own one. */
static gf_status reduce_inputs(struct gf_reducer *reducer, void *const *inputs, int count, int own_input, void *to, size_t bytes,
                               struct gf_reason *why)
{
    gf_device *device = reducer->lane->device;
    struct gf_local_work work = {.count = bytes / gf_type_size(reducer->type), .type = reducer->type, .op = reducer->op};
    void *so_far = kernel_address(device, inputs[own_input == 0 && count > 1]);
    gf_status status = GF_OK;

    for (int done = 0; done < count && status == GF_OK;) {
        work.input_count = 0;
        if (done > 0) {
            work.inputs[work.input_count++] = so_far;
        }
        while (work.input_count < GF_LOCAL_INPUTS && done < count) {
            work.inputs[work.input_count++] = kernel_address(device, inputs[done++]);
        }
        work.recv = done < count ? so_far : kernel_address(device, to);
        status = launch(reducer, &work, why);
    }
    return status;
}

void gf_reducer_reduce(struct gf_reducer *reducer, struct gf_messages *messages, void *const *inputs, int count, int own_input,
                       void *to, size_t bytes)
{
    struct gf_reason why = {""};

    if (bytes > 0 && messages->result == MPI_SUCCESS) {
        gf_status status = reduce_inputs(reducer, inputs, count, own_input, to, bytes, &why);

        gf_messages_fail(messages, gf_error_to_mpi(status, &why, messages->comm, messages->function));
    }
}
