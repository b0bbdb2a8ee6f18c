/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends which part of a reduction to whom, and what is reduced where.
 */
#include "mca_coll_gpufifo/between/allreduce.h"

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
    int rank, place;
    struct part share;                 /* of this rank's rail, in send and recv; no bytes: it is on none */
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

/* What scratch memory begins with: a share from each other rank of the node, then the node's, then a part of each other node. */
static size_t slot_bytes(const struct gf_between_allreduce *a)
{
    return share_of(a, a->rails - 1).bytes > share_of(a, 0).bytes ? share_of(a, a->rails - 1).bytes : share_of(a, 0).bytes;
}

static const char *get_scratch(struct gf_between_allreduce *a, size_t slots)
{
    struct gf_reason ignored;
    size_t line = (slot_bytes(a) + 255) / 256 * 256;

    if (gf_stage_pool_get(mca_coll_gpufifo_component.staging, a->send.where.ordinal, &a->pool, &ignored) != GF_OK ||
        gf_device_memory_alloc(gf_stage_pool_memory(a->pool), slots * line, &a->piece, &ignored) != GF_OK) {
        a->piece = NULL;
        return "there is no device memory for what other ranks send";
    }
    a->scratch = (struct gf_mapped_buffer){.address = a->piece->address, .bytes = slots * line};
    return gf_mapped_buffer_locate(&a->scratch) ? NULL : "device memory of ours is not to be found";
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
    return map->place < a->rails ? get_scratch(a, (size_t)(map->members + map->nodes)) : NULL;
}

void gf_between_allreduce_release(struct gf_between_allreduce *a)
{
    if (a && a->piece) {
        gf_device_memory_free(gf_stage_pool_memory(a->pool), a->piece);
        a->piece = NULL;
    }
}

static size_t slot(const struct gf_between_allreduce *a, int i)
{
    return (size_t)i * ((slot_bytes(a) + 255) / 256 * 256);
}

static void *kernel_address(gf_device *device, const void *user)
{
    return gf_device_kernel_address(device, user);
}

/* One launch, and its end. */
static gf_status launch(struct gf_between_allreduce *a, struct gf_local_work *work, struct gf_reason *why)
{
    struct gf_stage_lane *lane;
    gf_status status = gf_lane_acquire(a->pool, &lane, why);

    if (status != GF_OK) {
        return status;
    }
    status = gf_lane_count_blocks(lane, why);
    if (status == GF_OK) {
        size_t blocks = work->count * gf_type_size(a->type) / BYTES_A_BLOCK + 1, most = (size_t)lane->device->caps.blocks;

        work->task = gf_lane_task(lane);
        status = gf_device_launch(lane->device, lane->stream, GF_KERNEL_REDUCE_LOCAL, (int)(blocks < most ? blocks : most),
                                  GF_BLOCK_THREADS, work, sizeof *work, why);
    }
    if (status == GF_OK) {
        status = gf_device_stream_sync(lane->device, lane->stream);
    }
    gf_lane_release(lane);
    return status;
}

/* inputs: user addresses, in their order; more than a kernel takes go by several, each going on with the result so far. */
static int reduce(struct run *run, void *const *inputs, int count, void *to, size_t bytes)
{
    struct gf_between_allreduce *a = run->a;
    gf_device *device = gf_stage_pool_device(a->pool);
    struct gf_local_work work = {.recv = kernel_address(device, to), .count = bytes / gf_type_size(a->type), .type = a->type,
                                 .op = a->op};
    struct gf_reason why = {""};
    gf_status status = GF_OK;

    for (int done = 0; done < count && bytes > 0 && status == GF_OK;) {
        work.input_count = 0;
        if (done > 0) {
            work.inputs[work.input_count++] = work.recv;
        }
        while (work.input_count < GF_LOCAL_INPUTS && done < count) {
            work.inputs[work.input_count++] = kernel_address(device, inputs[done++]);
        }
        status = launch(a, &work, &why);
    }
    return status == GF_OK ? MPI_SUCCESS : gf_error_to_mpi(status, &why, run->messages.comm, run->messages.function);
}

static int wait_all(struct run *run, int result)
{
    return result == MPI_SUCCESS ? gf_messages_wait(&run->messages, run->messages.posted) : result;
}

/* The share of this rank's rail from the others of the node, and theirs to them; then the node's is in its slot. */
static int reduce_in_node(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    void *inputs[GF_MAX_RANKS];
    int result = MPI_SUCCESS;

    for (int i = 0; i < map->members && run->share.bytes > 0 && result == MPI_SUCCESS; i++) {
        inputs[i] = i == run->place ? a->send.address + run->share.offset : a->scratch.address + slot(a, i);
        if (i != run->place) {
            result = gf_messages_receive(&run->messages, &a->scratch, slot(a, i), run->share.bytes, map->ranks[i]);
        }
    }
    for (int rail = 0; rail < a->rails && result == MPI_SUCCESS; rail++) {
        struct part part = share_of(a, rail);

        if (rail != run->place) {
            result = gf_messages_send(&run->messages, &a->send, part.offset, part.bytes, map->ranks[rail]);
        }
    }
    result = wait_all(run, result);
    return result == MPI_SUCCESS && run->share.bytes > 0
           ? reduce(run, inputs, map->members, a->scratch.address + slot(a, run->place), run->share.bytes) : result;
}

static int on_rail(const struct run *run, int node)
{
    return run->a->places.ranks[run->a->places.first[node] + run->place];
}

/* Of the rail's share a part at each node, from what each node has of it; its result to where it belongs. */
static int reduce_on_rail(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    size_t mine = slot(a, run->place);
    struct part own = split(a, (struct part){0, run->share.bytes}, map->nodes, map->node);
    void *inputs[GF_MAX_RANKS];
    int result = MPI_SUCCESS;

    for (int node = 0; node < map->nodes && result == MPI_SUCCESS; node++) {
        size_t place = slot(a, map->members + node);

        inputs[node] = node == map->node ? a->scratch.address + mine + own.offset : a->scratch.address + place;
        if (node != map->node) {
            result = gf_messages_receive(&run->messages, &a->scratch, place, own.bytes, on_rail(run, node));
        }
    }
    for (int step = 1; step < map->nodes && result == MPI_SUCCESS; step++) {
        int node = (map->node + step) % map->nodes;
        struct part part = split(a, (struct part){0, run->share.bytes}, map->nodes, node);

        result = gf_messages_send(&run->messages, &a->scratch, mine + part.offset, part.bytes, on_rail(run, node));
    }
    result = wait_all(run, result);
    return result == MPI_SUCCESS
           ? reduce(run, inputs, map->nodes, a->recv.address + run->share.offset + own.offset, own.bytes) : result;
}

/* The results of a rail's parts, to all who are on it. */
static int gather_on_rail(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    struct part own = split(a, run->share, map->nodes, map->node);
    int result = MPI_SUCCESS;

    for (int step = 1; step < map->nodes && result == MPI_SUCCESS; step++) {
        int to = (map->node + step) % map->nodes, from = (map->node + map->nodes - step) % map->nodes;
        struct part part = split(a, run->share, map->nodes, from);

        result = gf_messages_receive(&run->messages, &a->recv, part.offset, part.bytes, on_rail(run, from));
        if (result == MPI_SUCCESS) {
            result = gf_messages_send(&run->messages, &a->recv, own.offset, own.bytes, on_rail(run, to));
        }
    }
    return wait_all(run, result);
}

static int gather_in_node(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    int result = MPI_SUCCESS;

    for (int rail = 0; rail < a->rails && result == MPI_SUCCESS; rail++) {
        struct part part = share_of(a, rail);

        if (rail != run->place) {
            result = gf_messages_receive(&run->messages, &a->recv, part.offset, part.bytes, map->ranks[rail]);
        }
    }
    for (int i = 0; i < map->members && result == MPI_SUCCESS; i++) {
        if (i != run->place) {
            result = gf_messages_send(&run->messages, &a->recv, run->share.offset, run->share.bytes, map->ranks[i]);
        }
    }
    return wait_all(run, result);
}

int gf_between_allreduce_run(struct gf_between_allreduce *a, mca_coll_gpufifo_module_t *module, const char *function)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    struct run run = {.a = a, .map = map, .rank = ompi_comm_rank(module->comm), .place = map->place,
                      .messages = {.comm = module->comm, .function = function}};
    int result;

    if (run.place < a->rails) {
        run.share = share_of(a, run.place);
    }
    result = reduce_in_node(&run);
    if (result == MPI_SUCCESS && run.place < a->rails) {
        result = reduce_on_rail(&run);
    }
    if (result == MPI_SUCCESS && run.place < a->rails) {
        result = gather_on_rail(&run);
    }
    result = result == MPI_SUCCESS ? gather_in_node(&run) : result;
    return gf_messages_finish(&run.messages, result);
}
