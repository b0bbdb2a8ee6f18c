/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends which part of a reduction to whom, and what is reduced where.
 */
#include "mca_coll_gpufifo/between/allreduce.h"

#include "core/fault.h"
#include "mca_coll_gpufifo/device_memory.h"
#include "mca_coll_gpufifo/mapped_buffer.h"
#include "mca_coll_gpufifo/stage_pool.h"

/* Parts begin at multiples of so many elements, so that kernels can load whole vectors. */
enum { ALIGNMENT = 32, BYTES_A_BLOCK = 64 << 10 };

/* Bytes of a buffer. */
struct part {
    size_t offset, bytes;
};

/* A call under way. */
struct run {
    struct gf_between_allreduce *a;
    const struct gf_agree_map *map;
    int place;
    struct part share;                 /* of this rank's rail, in send and recv; no bytes: it is on none */
    const struct gf_mapped_buffer *reduced;   /* what the node has of it after the first step */
    struct gf_messages messages;
};

/* The i-th of so many parts, the lengths of which follow from `bytes` alone. */
static struct part split(const struct gf_between_allreduce *a, struct part whole, int parts, int i)
{
    size_t step = gf_type_size(a->type) * ALIGNMENT, each = (whole.bytes / (size_t)parts + step - 1) / step * step;
    size_t begin = (size_t)i * each, end = begin + each;

    begin = begin < whole.bytes ? begin : whole.bytes;
    end = end < whole.bytes && i < parts - 1 ? end : whole.bytes;
    return (struct part){whole.offset + begin, end - begin};
}

static struct part share_of(const struct gf_between_allreduce *a, int rail)
{
    return split(a, (struct part){0, a->count * gf_type_size(a->type)}, a->rails, rail);
}

static size_t line(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* This rank's part of its rail's share. */
static struct part own_part(const struct gf_between_allreduce *a, struct part share, const struct gf_agree_map *map)
{
    return split(a, share, map->nodes, map->node);
}

/* See allreduce.h. */
static size_t scratch_bytes(const struct gf_between_allreduce *a, const struct gf_agree_map *map)
{
    struct part share = share_of(a, map->place);
    size_t in_node = (size_t)(map->members - 1) * line(share.bytes);
    size_t on_rail = (size_t)(map->nodes - 1) * line(own_part(a, share, map).bytes);

    return in_node > on_rail ? in_node : on_rail;
}

static gf_status get_memory(struct gf_between_allreduce *a, size_t bytes, struct gf_reason *why)
{
    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_DEVICE_ALLOC, why)) {
        return GF_ERR_NO_MEMORY;
    }
    return gf_device_memory_alloc(gf_stage_pool_memory(a->pool), bytes, &a->piece, why);
}

static const char *get_scratch(struct gf_between_allreduce *a, size_t bytes)
{
    struct gf_reason ignored;

    if (bytes == 0) {
        return NULL;
    }
    if (get_memory(a, bytes, &ignored) != GF_OK) {
        a->piece = NULL;
        return "there is no device memory for what other ranks send";
    }
    a->scratch = (struct gf_mapped_buffer){.address = a->piece->address, .bytes = bytes};
    return gf_mapped_buffer_locate(&a->scratch) ? NULL : "device memory of ours is not to be found";
}

static const char *get_lane(struct gf_between_allreduce *a)
{
    static const char none[] = "there is no memory to launch its kernels with";
    struct gf_reason ignored;

    if (gf_stage_pool_get(mca_coll_gpufifo_component.staging, a->send.where.ordinal, &a->pool, &ignored) != GF_OK ||
        gf_lane_acquire(a->pool, &a->lane, &ignored) != GF_OK) {
        a->lane = NULL;
        return none;
    }
    return gf_lane_count_blocks(a->lane, &ignored) == GF_OK ? NULL : none;
}

const char *gf_between_allreduce_prepare(struct gf_between_allreduce *a, mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    gf_device *device = gf_component_device(a->send.where.ordinal, NULL);

    gf_places_find(&a->places, map, ompi_comm_size(module->comm));
    a->rails = gf_places_members(&a->places, 0);
    for (int node = 1; node < map->nodes; node++) {
        int members = gf_places_members(&a->places, node);

        a->rails = members < a->rails ? members : a->rails;
    }
    if (!device || (gf_type_is_host_only(a->type) && !device->caps.host_types)) {
        return "its type is none that the device knows";
    }
    if (!gf_device_kernel_address(device, a->send.address) || !gf_device_kernel_address(device, a->recv.address)) {
        return "kernels cannot reach its buffers";
    }
    if (map->place >= a->rails) {
        return NULL;
    }
    const char *reason = get_lane(a);

    return reason ? reason : get_scratch(a, scratch_bytes(a, map));
}

void gf_between_allreduce_release(struct gf_between_allreduce *a)
{
    if (a && a->piece) {
        gf_device_memory_free(gf_stage_pool_memory(a->pool), a->piece);
        a->piece = NULL;
    }
    if (a && a->lane) {
        gf_lane_release(a->lane);
        a->lane = NULL;
    }
}

static void *kernel_address(gf_device *device, const void *user)
{
    return gf_device_kernel_address(device, user);
}

/* One launch, and its end. */
static gf_status launch(struct gf_between_allreduce *a, struct gf_local_work *work, struct gf_reason *why)
{
    struct gf_stage_lane *lane = a->lane;
    size_t blocks = work->count * gf_type_size(a->type) / BYTES_A_BLOCK + 1, most = (size_t)lane->device->caps.blocks;

    if (gf_fault_hits(mca_coll_gpufifo_component.config.stages, GF_FAULT_LAUNCH, why)) {
        return GF_ERR_DEVICE;
    }
    work->task = gf_lane_task(lane);
    gf_status status = gf_device_launch(lane->device, lane->stream, GF_KERNEL_REDUCE_LOCAL, (int)(blocks < most ? blocks : most),
                                        GF_BLOCK_THREADS, work, sizeof *work, why);

    return status == GF_OK ? gf_device_stream_sync(lane->device, lane->stream) : status;
}

/* inputs: user addresses, in their order, of which but the own_input-th are scratch memory. More than a kernel takes go by
 * several, each going on with the result so far. That lies in place of an input that is used up, for `to` may be the own one. */
static gf_status reduce_inputs(struct gf_between_allreduce *a, void *const *inputs, int count, int own_input, void *to,
                               size_t bytes, struct gf_reason *why)
{
    gf_device *device = gf_stage_pool_device(a->pool);
    struct gf_local_work work = {.count = bytes / gf_type_size(a->type), .type = a->type, .op = a->op};
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
        status = launch(a, &work, why);
    }
    return status;
}

/* What has come. A rank that has failed has nothing to reduce. */
static void reduce(struct run *run, void *const *inputs, int count, int own_input, void *to, size_t bytes)
{
    struct gf_reason why = {""};

    gf_messages_wait(&run->messages, run->messages.posted);
    if (bytes > 0 && run->messages.result == MPI_SUCCESS) {
        gf_status status = reduce_inputs(run->a, inputs, count, own_input, to, bytes, &why);

        gf_messages_fail(&run->messages, gf_error_to_mpi(status, &why, run->messages.comm, run->messages.function));
    }
}

/* The share of this rank's rail from the others of the node, and theirs to them; then the node's is in the receive buffer. In
 * place too: of what lies there only this rank's own share is written, which none of the others gets. A rank that is alone on
 * its node has nothing to do. */
static void reduce_in_node(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    void *inputs[GF_MAX_RANKS];
    size_t slot = 0;

    if (map->members == 1) {
        return;
    }
    for (int i = 0; i < map->members && run->share.bytes > 0; i++) {
        inputs[i] = i == run->place ? a->send.address + run->share.offset : a->scratch.address + slot;
        if (i != run->place) {
            gf_messages_receive(&run->messages, &a->scratch, slot, run->share.bytes, map->ranks[i]);
            slot += line(run->share.bytes);
        }
    }
    for (int rail = 0; rail < a->rails; rail++) {
        struct part part = share_of(a, rail);

        if (rail != run->place) {
            gf_messages_send(&run->messages, &a->send, part.offset, part.bytes, map->ranks[rail]);
        }
    }
    reduce(run, inputs, map->members, run->place, a->recv.address + run->share.offset, run->share.bytes);
}

static int on_rail(const struct run *run, int node)
{
    return run->a->places.ranks[run->a->places.first[node] + run->place];
}

/* Of the rail's share a part at each node, from what each node has of it; its result to where it belongs. */
static void reduce_on_rail(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    struct part own = own_part(a, run->share, map);
    void *inputs[GF_MAX_RANKS];
    size_t slot = 0;

    for (int node = 0; node < map->nodes; node++) {
        inputs[node] = node == map->node ? run->reduced->address + own.offset : a->scratch.address + slot;
        if (node != map->node) {
            gf_messages_receive(&run->messages, &a->scratch, slot, own.bytes, on_rail(run, node));
            slot += line(own.bytes);
        }
    }
    for (int step = 1; step < map->nodes; step++) {
        int node = (map->node + step) % map->nodes;
        struct part part = split(a, run->share, map->nodes, node);

        gf_messages_send(&run->messages, run->reduced, part.offset, part.bytes, on_rail(run, node));
    }
    reduce(run, inputs, map->nodes, map->node, a->recv.address + own.offset, own.bytes);
}

/* The results of a rail's parts, to all who are on it. */
static void gather_on_rail(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    struct part own = own_part(a, run->share, map);

    for (int step = 1; step < map->nodes; step++) {
        int to = (map->node + step) % map->nodes, from = (map->node + map->nodes - step) % map->nodes;
        struct part part = split(a, run->share, map->nodes, from);

        gf_messages_receive(&run->messages, &a->recv, part.offset, part.bytes, on_rail(run, from));
        gf_messages_send(&run->messages, &a->recv, own.offset, own.bytes, on_rail(run, to));
    }
    gf_messages_wait(&run->messages, run->messages.posted);
}

static void gather_in_node(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;

    for (int rail = 0; rail < a->rails; rail++) {
        struct part part = share_of(a, rail);

        if (rail != run->place) {
            gf_messages_receive(&run->messages, &a->recv, part.offset, part.bytes, map->ranks[rail]);
        }
    }
    for (int i = 0; i < map->members; i++) {
        if (i != run->place) {
            gf_messages_send(&run->messages, &a->recv, run->share.offset, run->share.bytes, map->ranks[i]);
        }
    }
}

int gf_between_allreduce_run(struct gf_between_allreduce *a, mca_coll_gpufifo_module_t *module, const char *function)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    struct run run = {.a = a, .map = map, .place = map->place, .reduced = map->members == 1 ? &a->send : &a->recv,
                      .messages = {.comm = module->comm, .function = function}};

    if (run.place < a->rails) {
        run.share = share_of(a, run.place);
    }
    reduce_in_node(&run);
    if (run.place < a->rails) {
        reduce_on_rail(&run);
        gather_on_rail(&run);
    }
    gather_in_node(&run);
    return gf_messages_finish(&run.messages);
}
