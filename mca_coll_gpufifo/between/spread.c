/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who passes what on to whom.
 */
#include "mca_coll_gpufifo/between/spread.h"

/* A broadcast goes in segments of so many bytes, or longer ones where it would have too many; so many of them may be under way
 * from the root to each of its targets. Others pass on what they receive, so they are no faster. */
enum { SEGMENT_BYTES = 1 << 20, SEGMENTS_MOST = 64, SEGMENTS_AT_ONCE = 4 };

/* A broadcast as this rank sees it. */
struct broadcast {
    const struct gf_mapped_buffer *buffer;
    size_t offset, bytes, segment;     /* of the data in the buffer; of a segment, but the last */
    int segments;
    int source;                        /* the rank that this one receives from; -1: it is the root */
    int targets[2 * GF_MAX_RANKS];
    int target_count;
};

/* Who receives for a node. */
static int head_of(const struct gf_agree_map *map, int node, int root)
{
    return node == map->node_of[root] ? root : map->leaders[node];
}

/* The node's number counted from that of the root, and the node of a number. */
static int number_of(const struct gf_agree_map *map, int node, int root)
{
    return (node + map->nodes - map->node_of[root]) % map->nodes;
}

static int node_at(const struct gf_agree_map *map, int number, int root)
{
    return (number + map->node_of[root]) % map->nodes;
}

static void add_target(struct broadcast *b, const struct gf_agree_map *map, int number, int root)
{
    if (number < map->nodes) {
        b->targets[b->target_count++] = head_of(map, node_at(map, number, root), root);
    }
}

/* The nodes after this one: the next of a chain, or those that differ in one more of the bits below its lowest. */
static void find_nodes(struct broadcast *b, const struct gf_agree_map *map, int root)
{
    int number = number_of(map, map->node, root), before = number & (number - 1);

    if (b->segments >= map->nodes) {
        before = number - 1;
        add_target(b, map, number + 1, root);
    } else {
        for (int bit = 1; (number & bit) == 0 && bit < map->nodes; bit <<= 1) {
            add_target(b, map, number + bit, root);
        }
    }
    b->source = number == 0 ? -1 : head_of(map, node_at(map, before, root), root);
}

static void find_way(struct broadcast *b, const struct gf_between *between, int root)
{
    const struct gf_agree_map *map = between->map;
    int head = head_of(map, map->node, root);

    if (between->rank != head) {
        b->source = head;
        return;
    }
    find_nodes(b, map, root);
    for (int i = 0; i < map->members; i++) {
        if (map->ranks[i] != head) {
            b->targets[b->target_count++] = map->ranks[i];
        }
    }
}

static struct broadcast describe_broadcast(const struct gf_between *between, int root)
{
    const struct gf_exchange *x = between->x;
    bool gives = between->rank == root;
    const struct gf_registry_block *block = gives ? &x->give[(root + 1) % between->ranks] : &x->take[root];
    struct broadcast b = {.buffer = gives ? &x->send : &x->recv, .offset = block->offset, .bytes = block->bytes};

    b.segment = (b.bytes + SEGMENTS_MOST - 1) / SEGMENTS_MOST;
    b.segment = b.segment < SEGMENT_BYTES ? SEGMENT_BYTES : b.segment;
    b.segments = (int)((b.bytes + b.segment - 1) / b.segment);
    find_way(&b, between, root);
    return b;
}

static size_t segment_bytes(const struct broadcast *b, int segment)
{
    size_t rest = b->bytes - (size_t)segment * b->segment;

    return rest < b->segment ? rest : b->segment;
}

static void send_segment(struct gf_messages *messages, const struct broadcast *b, int segment)
{
    for (int i = 0; i < b->target_count; i++) {
        gf_messages_send(messages, b->buffer, b->offset + (size_t)segment * b->segment, segment_bytes(b, segment),
                         b->targets[i]);
    }
}

void gf_between_broadcast(struct gf_between *between, int root)
{
    struct gf_messages *messages = &between->messages;
    const struct broadcast b = describe_broadcast(between, root);
    int receives = b.source < 0 ? 0 : b.segments;

    for (int segment = 0; segment < receives; segment++) {
        gf_messages_receive(messages, b.buffer, b.offset + (size_t)segment * b.segment, segment_bytes(&b, segment), b.source);
    }
    for (int segment = 0; segment < b.segments && b.target_count > 0; segment++) {
        int sent = segment < SEGMENTS_AT_ONCE ? 0 : (segment - SEGMENTS_AT_ONCE + 1) * b.target_count;

        gf_messages_wait(messages, receives ? segment + 1 : sent);
        send_segment(messages, &b, segment);
    }
}

void gf_places_find(struct gf_places *places, const struct gf_agree_map *map, int ranks)
{
    int count[GF_MAX_RANKS] = {0};

    for (int rank = 0; rank < ranks; rank++) {
        places->place[rank] = count[map->node_of[rank]]++;
    }
    places->first[0] = 0;
    for (int node = 0; node < map->nodes; node++) {
        places->first[node + 1] = places->first[node] + count[node];
    }
    for (int rank = 0; rank < ranks; rank++) {
        places->ranks[places->first[map->node_of[rank]] + places->place[rank]] = rank;
    }
}

int gf_places_rails(const struct gf_places *places, int nodes)
{
    int rails = gf_places_members(places, 0);

    for (int node = 1; node < nodes; node++) {
        int members = gf_places_members(places, node);

        rails = members < rails ? members : rails;
    }
    return rails;
}

/* Who receives that rank's block for this node. */
static int receiver_at(const struct gf_places *places, int node, int origin)
{
    return places->ranks[places->first[node] + places->place[origin] % gf_places_members(places, node)];
}

static void receive_block(struct gf_between *b, int origin, int from)
{
    const struct gf_registry_block *block = &b->x->take[origin];

    gf_messages_receive(&b->messages, &b->x->recv, block->offset, block->bytes, from);
}

/* First what this rank is to pass on, in the order of its origins; behind[]: how many messages there are after each of it. Then
 * the blocks of this node's ranks, and what they pass on in that same order. */
static void receive_blocks(struct gf_between *b, const struct gf_places *places, int *behind)
{
    const struct gf_agree_map *map = b->map;

    for (int origin = 0; origin < b->ranks; origin++) {
        if (map->node_of[origin] != map->node && receiver_at(places, map->node, origin) == b->rank) {
            receive_block(b, origin, origin);
        }
        behind[origin] = b->messages.posted;
    }
    for (int i = 0; i < map->members; i++) {
        if (map->ranks[i] != b->rank) {
            receive_block(b, map->ranks[i], map->ranks[i]);
        }
    }
    for (int origin = 0; origin < b->ranks; origin++) {
        int from = receiver_at(places, map->node, origin);

        if (map->node_of[origin] != map->node && from != b->rank) {
            receive_block(b, origin, from);
        }
    }
}

static void send_to_node(struct gf_between *b, const struct gf_mapped_buffer *buffer, const struct gf_registry_block *block)
{
    for (int i = 0; i < b->map->members; i++) {
        if (b->map->ranks[i] != b->rank) {
            gf_messages_send(&b->messages, buffer, block->offset, block->bytes, b->map->ranks[i]);
        }
    }
}

/* To other nodes first: that takes longest. */
static void send_own(struct gf_between *b, const struct gf_places *places)
{
    const struct gf_registry_block *block = &b->x->give[(b->rank + 1) % b->ranks];

    for (int step = 1; step < b->map->nodes; step++) {
        int node = (b->map->node + step) % b->map->nodes;

        gf_messages_send(&b->messages, &b->x->send, block->offset, block->bytes, receiver_at(places, node, b->rank));
    }
    send_to_node(b, &b->x->send, block);
}

void gf_between_allgather(struct gf_between *b)
{
    const struct gf_agree_map *map = b->map;
    struct gf_places places;
    int behind[GF_MAX_RANKS];

    gf_places_find(&places, map, b->ranks);
    receive_blocks(b, &places, behind);
    send_own(b, &places);
    for (int origin = 0; origin < b->ranks; origin++) {
        if (map->node_of[origin] != map->node && receiver_at(&places, map->node, origin) == b->rank) {
            gf_messages_wait(&b->messages, behind[origin]);
            send_to_node(b, &b->x->recv, &b->x->take[origin]);
        }
    }
}
