/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose the pieces of a reduction are, who sends them to whom, and what is reduced where.
 */
#include "mca_coll_gpufifo/between/reduce.h"

/* A call under way. */
struct run {
    struct gf_between_reduce *r;
    const struct gf_agree_map *map;
    int rank;
    struct gf_messages messages;
};

static int rank_at(const struct gf_between_reduce *r, int node, int place)
{
    return r->places.ranks[r->places.first[node] + place];
}

static int rail_of(const struct gf_between_reduce *r, const struct gf_between_piece *piece)
{
    return r->places.place[piece->owner];
}

static void cut_for_root(struct gf_between_reduce *r, const struct gf_agree_map *map, int root)
{
    const struct gf_part whole = {0, r->send.bytes};
    bool at_root = map->nodes == 2;    /* as much crosses to the root's node either way */

    r->pieces = at_root ? r->rails : r->rails * map->nodes;
    for (int i = 0; i < r->pieces; i++) {
        int node = at_root ? map->node_of[root] : (map->node + 1 + i / r->rails) % map->nodes;
        int number = at_root ? i : node * r->rails + i % r->rails;

        r->piece[i] = (struct gf_between_piece){.part = gf_part_split(whole, r->reducer.type, r->pieces, number),
                                                .owner = rank_at(r, node, i % r->rails), .target = root};
    }
}

static void cut_by_counts(struct gf_between_reduce *r, const struct gf_agree_map *map, int ranks, const size_t *counts)
{
    size_t offset[GF_MAX_RANKS + 1] = {0};

    for (int rank = 0; rank < ranks; rank++) {
        offset[rank + 1] = offset[rank] + counts[rank];
    }
    r->pieces = 0;
    for (int step = 1; step <= map->nodes; step++) {
        int node = (map->node + step) % map->nodes;

        for (int place = 0; place < gf_places_members(&r->places, node); place++) {
            int target = rank_at(r, node, place);

            r->piece[r->pieces++] = (struct gf_between_piece){
                .part = {offset[target], counts[target]}, .owner = rank_at(r, node, place % r->rails), .target = target};
        }
    }
}

/* Room for what comes of each piece; how many bytes of it. */
static size_t lay_out(struct gf_between_reduce *r, const struct gf_agree_map *map, int rank)
{
    size_t bytes = 0;

    for (int i = 0; i < r->pieces; i++) {
        struct gf_between_piece *piece = &r->piece[i];
        size_t line = gf_reducer_line(piece->part.bytes);

        if (rail_of(r, piece) == map->place) {
            piece->came_from_node = bytes;
            bytes += (size_t)(map->members - 1) * line;
        }
        if (piece->owner == rank) {
            piece->came_between = bytes;
            bytes += (size_t)(map->nodes - 1) * line;
        }
    }
    return bytes;
}

static void find_rails(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);

    gf_places_find(&r->places, map, ompi_comm_size(module->comm));
    r->rails = gf_places_rails(&r->places, map->nodes);
}

static const char *prepare(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module)
{
    const struct gf_agree_map *map = gf_agree_map_of(module);
    const char *reason = gf_reducer_obstacle(&r->reducer, &r->send, &r->recv);

    if (reason || map->place >= r->rails) {
        return reason;
    }
    return gf_reducer_prepare(&r->reducer, r->send.where.ordinal, lay_out(r, map, ompi_comm_rank(module->comm)));
}

const char *gf_between_reduce_prepare(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module, int root)
{
    find_rails(r, module);
    cut_for_root(r, gf_agree_map_of(module), root);
    return prepare(r, module);
}

const char *gf_between_reduce_scatter_prepare(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module,
                                              const size_t *counts)
{
    find_rails(r, module);
    cut_by_counts(r, gf_agree_map_of(module), ompi_comm_size(module->comm), counts);
    return prepare(r, module);
}

void gf_between_reduce_release(struct gf_between_reduce *r)
{
    if (r) {
        gf_reducer_release(&r->reducer);
    }
}

static void post_receives(struct run *run, struct gf_between_piece *piece)
{
    struct gf_between_reduce *r = run->r;
    const struct gf_agree_map *map = run->map;
    size_t bytes = piece->part.bytes, slot = piece->came_from_node;

    for (int i = 0; i < map->members && rail_of(r, piece) == map->place; i++) {
        if (i != map->place) {
            gf_messages_receive(&run->messages, &r->reducer.scratch, slot, bytes, map->ranks[i]);
            slot += gf_reducer_line(bytes);
        }
    }
    piece->posted = run->messages.posted;
}

static void post_receives_between(struct run *run, const struct gf_between_piece *piece)
{
    struct gf_between_reduce *r = run->r;
    size_t bytes = piece->part.bytes, slot = piece->came_between;

    for (int node = 0; node < run->map->nodes && piece->owner == run->rank; node++) {
        if (node != run->map->node) {
            gf_messages_receive(&run->messages, &r->reducer.scratch, slot, bytes, rank_at(r, node, run->map->place));
            slot += gf_reducer_line(bytes);
        }
    }
}

/* All that comes before results do, and all that this rank sends of its own. */
static void begin(struct run *run)
{
    struct gf_between_reduce *r = run->r;

    for (int i = 0; i < r->pieces; i++) {
        post_receives(run, &r->piece[i]);
    }
    for (int i = 0; i < r->pieces; i++) {
        post_receives_between(run, &r->piece[i]);
    }
    for (int i = 0; i < r->pieces; i++) {
        int rail = rail_of(r, &r->piece[i]);

        if (rail != run->map->place) {
            gf_messages_send(&run->messages, &r->send, r->piece[i].part.offset, r->piece[i].part.bytes, run->map->ranks[rail]);
        }
    }
}

/* What the node has of a piece on this rank's rail, once it is there: in the first of its slots, or with one rank a node, what
 * that contributes. Offset in the buffer that is returned. */
static const struct gf_mapped_buffer *node_has(const struct run *run, const struct gf_between_piece *piece, size_t *offset)
{
    bool alone = run->map->members == 1;

    *offset = alone ? piece->part.offset : piece->came_from_node;
    return alone ? &run->r->send : &run->r->reducer.scratch;
}

/* Inputs of one reduction: the own one, and the others from slot to slot. */
static void list_inputs(const struct run *run, size_t slot, size_t bytes, int count, int own_input, char *own, void **inputs)
{
    for (int i = 0; i < count; i++) {
        inputs[i] = own;
        if (i != own_input) {
            inputs[i] = run->r->reducer.scratch.address + slot;
            slot += gf_reducer_line(bytes);
        }
    }
}

/* A piece on this rank's rail, and on to its owner. */
static void reduce_in_node(struct run *run, const struct gf_between_piece *piece)
{
    struct gf_between_reduce *r = run->r;
    const struct gf_agree_map *map = run->map;
    size_t offset, bytes = piece->part.bytes;
    const struct gf_mapped_buffer *reduced = node_has(run, piece, &offset);
    void *inputs[GF_MAX_RANKS];

    if (map->members > 1) {
        list_inputs(run, piece->came_from_node, bytes, map->members, map->place, r->send.address + piece->part.offset, inputs);
        gf_messages_wait(&run->messages, piece->posted);
        gf_reducer_reduce(&r->reducer, &run->messages, inputs, map->members, map->place, reduced->address + offset, bytes);
    }
    if (piece->owner != run->rank) {
        gf_messages_send(&run->messages, reduced, offset, bytes, piece->owner);
    }
}

/* Where the result of a piece is made that this rank owns: where it belongs, or in the first slot. */
static char *place_of_result(const struct run *run, const struct gf_between_piece *piece)
{
    const struct gf_between_reduce *r = run->r;
    bool stays = piece->target == run->rank && !r->overlaps;

    return stays ? r->recv.address + (piece->part.offset - r->first) : r->reducer.scratch.address + piece->came_between;
}

static void reduce_between_nodes(struct run *run, const struct gf_between_piece *piece)
{
    size_t offset, bytes = piece->part.bytes;
    const struct gf_mapped_buffer *reduced = node_has(run, piece, &offset);
    void *inputs[GF_MAX_RANKS];

    if (bytes == 0) {
        return;                        /* and there may be no buffer */
    }
    list_inputs(run, piece->came_between, bytes, run->map->nodes, run->map->node, reduced->address + offset, inputs);
    gf_reducer_reduce(&run->r->reducer, &run->messages, inputs, run->map->nodes, run->map->node, place_of_result(run, piece),
                      bytes);
}

/* Nobody needs what this rank contributes any more: results may come in its place. */
static void deliver(struct run *run)
{
    struct gf_between_reduce *r = run->r;

    for (int i = 0; i < r->pieces; i++) {
        const struct gf_between_piece *piece = &r->piece[i];
        size_t bytes = piece->part.bytes;

        if (piece->owner == run->rank && piece->target != run->rank) {
            gf_messages_send(&run->messages, &r->reducer.scratch, piece->came_between, bytes, piece->target);
        } else if (piece->owner != run->rank && piece->target == run->rank) {
            gf_messages_receive(&run->messages, &r->recv, piece->part.offset - r->first, bytes, piece->owner);
        } else if (piece->owner == run->rank && r->overlaps) {
            void *made = r->reducer.scratch.address + piece->came_between;

            gf_reducer_reduce(&r->reducer, &run->messages, &made, 1, -1, r->recv.address, bytes);
        }
    }
}

int gf_between_reduce_run(struct gf_between_reduce *r, mca_coll_gpufifo_module_t *module, const char *function)
{
    struct run run = {.r = r, .map = gf_agree_map_of(module), .rank = ompi_comm_rank(module->comm),
                      .messages = {.comm = module->comm, .function = function}};

    begin(&run);
    for (int i = 0; i < r->pieces; i++) {
        if (rail_of(r, &r->piece[i]) == run.map->place) {
            reduce_in_node(&run, &r->piece[i]);
        }
    }
    gf_messages_wait(&run.messages, run.messages.posted);
    for (int i = 0; i < r->pieces; i++) {
        if (r->piece[i].owner == run.rank) {
            reduce_between_nodes(&run, &r->piece[i]);
        }
    }
    deliver(&run);
    return gf_messages_finish(&run.messages);
}
