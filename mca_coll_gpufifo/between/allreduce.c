/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends which part of a reduction to whom, and what is reduced where.
 */
#include "mca_coll_gpufifo/between/allreduce.h"

/* A call under way. */
struct run {
    struct gf_between_allreduce *a;
    const struct gf_agree_map *map;
    int place;
    struct gf_part share;              /* of this rank's rail, in send and recv; no bytes: it is on none */
    const struct gf_mapped_buffer *reduced;   /* what the node has of it after the first step */
    struct gf_messages messages;
};

static struct gf_part share_of(const struct gf_between_allreduce *a, int rail)
{
    return gf_part_split((struct gf_part){0, a->count * gf_type_size(a->reducer.type)}, a->reducer.type, a->rails, rail);
}

/* This rank's part of its rail's share. */
static struct gf_part own_part(const struct gf_between_allreduce *a, struct gf_part share, const struct gf_agree_map *map)
{
    return gf_part_split(share, a->reducer.type, map->nodes, map->node);
}

/* See allreduce.h. */
static size_t scratch_bytes(const struct gf_between_allreduce *a, const struct gf_agree_map *map)
{
    struct gf_part share = share_of(a, map->place);
    size_t in_node = (size_t)(map->members - 1) * gf_reducer_line(share.bytes);
    size_t on_rail = (size_t)(map->nodes - 1) * gf_reducer_line(own_part(a, share, map).bytes);

    return in_node > on_rail ? in_node : on_rail;
}

const char *gf_between_allreduce_prepare(struct gf_between_allreduce *a, mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    const char *reason = gf_reducer_obstacle(&a->reducer, &a->send, &a->recv);

    gf_places_find(&a->places, map, ompi_comm_size(module->comm));
    a->rails = gf_places_rails(&a->places, map->nodes);
    if (reason || map->place >= a->rails) {
        return reason;
    }
    return gf_reducer_prepare(&a->reducer, a->send.where.ordinal, scratch_bytes(a, map));
}

void gf_between_allreduce_release(struct gf_between_allreduce *a)
{
    if (a) {
        gf_reducer_release(&a->reducer);
    }
}

/* What has come, once all of it and what this rank sends has. */
static void reduce(struct run *run, void *const *inputs, int count, int own_input, void *to, size_t bytes)
{
    gf_messages_wait(&run->messages, run->messages.posted);
    gf_reducer_reduce(&run->a->reducer, &run->messages, inputs, count, own_input, to, bytes);
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
        inputs[i] = i == run->place ? a->send.address + run->share.offset : a->reducer.scratch.address + slot;
        if (i != run->place) {
            gf_messages_receive(&run->messages, &a->reducer.scratch, slot, run->share.bytes, map->ranks[i]);
            slot += gf_reducer_line(run->share.bytes);
        }
    }
    for (int rail = 0; rail < a->rails; rail++) {
        struct gf_part part = share_of(a, rail);

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
    struct gf_part own = own_part(a, run->share, map);
    void *inputs[GF_MAX_RANKS];
    size_t slot = 0;

    for (int node = 0; node < map->nodes; node++) {
        inputs[node] = node == map->node ? run->reduced->address + own.offset : a->reducer.scratch.address + slot;
        if (node != map->node) {
            gf_messages_receive(&run->messages, &a->reducer.scratch, slot, own.bytes, on_rail(run, node));
            slot += gf_reducer_line(own.bytes);
        }
    }
    for (int step = 1; step < map->nodes; step++) {
        int node = (map->node + step) % map->nodes;
        struct gf_part part = gf_part_split(run->share, a->reducer.type, map->nodes, node);

        gf_messages_send(&run->messages, run->reduced, part.offset, part.bytes, on_rail(run, node));
    }
    reduce(run, inputs, map->nodes, map->node, a->recv.address + own.offset, own.bytes);
}

/* The results of a rail's parts, to all who are on it. */
static void gather_on_rail(struct run *run)
{
    struct gf_between_allreduce *a = run->a;
    const struct gf_agree_map *map = run->map;
    struct gf_part own = own_part(a, run->share, map);

    for (int step = 1; step < map->nodes; step++) {
        int to = (map->node + step) % map->nodes, from = (map->node + map->nodes - step) % map->nodes;
        struct gf_part part = gf_part_split(run->share, a->reducer.type, map->nodes, from);

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
        struct gf_part part = share_of(a, rail);

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
