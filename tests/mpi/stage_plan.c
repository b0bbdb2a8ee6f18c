/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing counts, types and displacements.
 */
#include "tests/mpi/stage_plan.h"

#include <stdlib.h>

#include "tests/mpi/values.h"

enum {
    MOST_ELEMENTS = 4,         /* of a part; as many as columns interleave */
    INTER_TOTAL = 12           /* of reduce_scatter on an intercommunicator: both groups must agree, whatever their size */
};

int stage_draw(uint64_t seed, int a, int b, int limit)
{
    uint64_t state = seed ^ ((uint64_t)(unsigned)(a + 2) << 32) ^ ((uint64_t)(unsigned)(b + 2) << 48);

    random_next(&state);
    return (int)((random_next(&state) >> 16) % (uint64_t)limit);
}

/* Frees the group. */
static int world_ranks(MPI_Group group, int *ranks)
{
    MPI_Group world;
    int size, own[STAGE_PEERS];

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++) {
        own[i] = i;
    }
    MPI_Group_translate_ranks(group, size, own, world, ranks);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return size;
}

static void to_world(const struct stage_peers *peers, int *ranks, int count)
{
    for (int i = 0; i < count; i++) {
        ranks[i] = ranks[i] < 0 ? -1 : peers->group[ranks[i]];
    }
}

static void find_neighbours(MPI_Comm comm, struct stage_peers *peers)
{
    int topology, dimensions, weighted, me, weights[STAGE_PEERS];

    MPI_Topo_test(comm, &topology);
    MPI_Comm_rank(comm, &me);
    if (topology == MPI_CART) {
        MPI_Cartdim_get(comm, &dimensions);
        peers->from_count = peers->to_count = 2 * dimensions;
        for (int i = 0; i < dimensions; i++) {
            MPI_Cart_shift(comm, i, 1, &peers->from[2 * i], &peers->from[2 * i + 1]);
            MPI_Cart_shift(comm, i, 1, &peers->to[2 * i], &peers->to[2 * i + 1]);
        }
    } else if (topology == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, me, &peers->from_count);
        peers->to_count = peers->from_count;
        MPI_Graph_neighbors(comm, me, STAGE_PEERS, peers->from);
        MPI_Graph_neighbors(comm, me, STAGE_PEERS, peers->to);
    } else {
        MPI_Dist_graph_neighbors_count(comm, &peers->from_count, &peers->to_count, &weighted);
        MPI_Dist_graph_neighbors(comm, STAGE_PEERS, peers->from, weights, STAGE_PEERS, peers->to, weights);
    }
    to_world(peers, peers->from, peers->from_count);
    to_world(peers, peers->to, peers->to_count);
}

void stage_peers_find(const struct stage_choice *choice, struct stage_peers *peers)
{
    MPI_Group group;
    int inter;

    *peers = (struct stage_peers){0};
    MPI_Comm_rank(MPI_COMM_WORLD, &peers->rank);
    MPI_Comm_test_inter(choice->comm, &inter);
    peers->inter = inter;
    MPI_Comm_group(choice->comm, &group);
    peers->group_count = world_ranks(group, peers->group);
    if (choice->collective->neighbours) {
        find_neighbours(choice->comm, peers);
        return;
    }
    if (inter) {
        MPI_Comm_remote_group(choice->comm, &group);
    } else {
        MPI_Comm_group(choice->comm, &group);
    }
    peers->from_count = peers->to_count = world_ranks(group, peers->from);
    for (int i = 0; i < peers->to_count; i++) {
        peers->to[i] = peers->from[i];
    }
}

/* What one rank sends to another; both compute it. In place, what goes out is as much as what comes in, and never nothing: Open
 * MPI 4.1 then loses count of the non-blocking operations of that communicator. */
static int elements(const struct stage_choice *choice, int from, int to)
{
    const struct stage_collective *collective = choice->collective;

    if (choice->empty) {
        return 0;
    }
    if (!collective->by_sender && !collective->by_receiver) {
        return 1 + stage_draw(choice->seed, 0, 0, MOST_ELEMENTS);
    }
    if (choice->in_place && collective->by_sender && collective->by_receiver) {
        return 1 + stage_draw(choice->seed, from < to ? from : to, from < to ? to : from, MOST_ELEMENTS);
    }
    return stage_draw(choice->seed, collective->by_sender ? from : 0, collective->by_receiver ? to : 0, MOST_ELEMENTS + 1);
}

/* What the reduce_scatter family leaves at one rank of this rank's group. */
static int result_elements(const struct stage_choice *choice, const struct stage_peers *peers, int index)
{
    int ranks = peers->group_count;

    if (!peers->inter || choice->empty) {
        return elements(choice, 0, peers->group[index]);
    }
    return INTER_TOTAL / ranks + (index == ranks - 1 && choice->collective->by_receiver ? INTER_TOTAL % ranks : 0);
}

static int all_results(const struct stage_choice *choice, const struct stage_peers *peers)
{
    int sum = 0;

    for (int i = 0; i < peers->group_count; i++) {
        sum += result_elements(choice, peers, i);
    }
    return sum;
}

static int index_in_group(const struct stage_peers *peers)
{
    int i = 0;

    while (peers->group[i] != peers->rank) {
        i++;
    }
    return i;
}

/* Elements of a buffer that is one part. */
static int single_count(const struct stage_choice *choice, const struct stage_peers *peers, enum stage_side side)
{
    if (side == SIDE_SUM) {
        return all_results(choice, peers);
    }
    return choice->collective->send == SIDE_SUM ? result_elements(choice, peers, index_in_group(peers))
                                                : elements(choice, peers->rank, peers->rank);
}

/* Bounds of a part whose origin is 0. */
static void part_bounds(const struct stage_type *type, int count, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t last = (ptrdiff_t)(count - 1) * type->extent;

    *low = *high = 0;
    if (count > 0) {
        *low = type->at[0] + (last < 0 ? last : 0);
        *high = type->at[STAGE_INTS - 1] + 1 + (last > 0 ? last : 0);
    }
}

static ptrdiff_t round_up(ptrdiff_t value, ptrdiff_t step)
{
    ptrdiff_t rest = (value % step + step) % step;

    return rest == 0 ? value : value + step - rest;
}

/* Parts in the order of their ranks or against it, with holes between, somewhere around the buffer's address. Displacements of
 * SIDE_V are multiples of the extent. */
static void spread_parts(struct stage_plan *plan, enum stage_side side, uint64_t seed, int rank)
{
    bool backwards = stage_draw(seed, rank, 0, 2);
    ptrdiff_t cursor = (stage_draw(seed, rank, 1, 3) - 1) * 200;

    for (int k = 0; k < plan->parts; k++) {
        int i = backwards ? plan->parts - 1 - k : k;
        ptrdiff_t low, high;

        part_bounds(plan->type[i], plan->count[i], &low, &high);
        plan->at[i] = cursor - low + stage_draw(seed, rank, 2 + i, 7);
        if (side == SIDE_V) {
            plan->at[i] = round_up(plan->at[i], abs(plan->type[i]->extent));
        }
        cursor = plan->at[i] + high;
    }
}

static void find_bounds(struct stage_plan *plan)
{
    bool any = false;

    for (int i = 0; i < plan->parts; i++) {
        ptrdiff_t low, high;

        part_bounds(plan->type[i], plan->count[i], &low, &high);
        if (plan->count[i] > 0) {
            plan->low = any && plan->low < plan->at[i] + low ? plan->low : plan->at[i] + low;
            plan->high = any && plan->high > plan->at[i] + high ? plan->high : plan->at[i] + high;
            any = true;
        }
    }
}

/* A type for so many elements one behind the other. More columns than there are would overlap; and Open MPI's own algorithms fail
 * on negative extents but where they are `direct`: they take no temporary memory and no span. */
static const struct stage_type *pick_type(const struct stage_types *types, uint64_t seed, int a, int b, int together, bool direct)
{
    int name = stage_draw(seed, a, b, STAGE_TYPES);

    if ((name == STAGE_COLUMN && together > STAGE_COLUMNS) || (name == STAGE_BACKWARD && !direct)) {
        name = STAGE_GAPS;
    }
    return &types->type[name];
}

static void place_parts(const struct stage_types *types, const struct stage_choice *choice, enum stage_side side, bool sends,
                        int rank, struct stage_plan *plan)
{
    uint64_t seed = choice->seed + (sends ? 1000 : 2000);
    bool apart = side == SIDE_V || side == SIDE_W;
    int total = 0, most = 0;

    for (int i = 0; i < plan->parts; i++) {
        total += plan->count[i];
        most = plan->count[i] > most ? plan->count[i] : most;
    }
    for (int i = 0; i < plan->parts; i++) {
        plan->type[i] = pick_type(types, seed, rank, side == SIDE_W ? 20 + i : 20, apart ? most : total,
                                  (side == SIDE_V && !choice->in_place) || choice->collective->rooted == ROOTED_BCAST);
        plan->at[i] = (ptrdiff_t)i * plan->count[i] * plan->type[i]->extent;
    }
    if (apart) {
        spread_parts(plan, side, seed, rank);
    }
    if (side == SIDE_W && plan->parts == 1) {
        plan->at[0] = 0;   /* Open MPI 4.1 alone multiplies the only rank's displacement by the extent */
    }
}

static void plan_side(const struct stage_types *types, const struct stage_choice *choice, const struct stage_peers *peers,
                      enum stage_side side, bool sends, struct stage_plan *plan)
{
    bool single = side == SIDE_ONE || side == SIDE_SUM;

    plan->parts = single ? 1 : sends ? peers->to_count : peers->from_count;
    for (int i = 0; i < plan->parts; i++) {
        plan->count[i] = single ? single_count(choice, peers, side)
                       : sends ? elements(choice, peers->rank, peers->to[i]) : elements(choice, peers->from[i], peers->rank);
    }
    if (!choice->collective->reduces) {
        place_parts(types, choice, side, sends, peers->rank, plan);
    } else {   /* all ranks and both sides have one type, which must suit the longest buffer */
        int longest = choice->collective->send == SIDE_SUM ? STAGE_COLUMNS + 1 : MOST_ELEMENTS;
        plan->type[0] = choice->multiply ? pick_type(types, choice->seed, 0, 20, longest, false) : &types->type[STAGE_DENSE];
    }
    find_bounds(plan);
}

/* Which of the buffers this rank's role has, and which of those is in place. */
static void assign_roles(const struct stage_choice *choice, const struct stage_peers *peers, struct stage_plan *send,
                         struct stage_plan *recv)
{
    const struct stage_collective *collective = choice->collective;
    bool root = choice->root == peers->rank, root_group = false;

    for (int i = 0; i < peers->group_count; i++) {
        root_group = root_group || peers->group[i] == choice->root;
    }
    /* On an intercommunicator the root exchanges data with the other group only. */
    bool peer_of_root = peers->inter ? !root_group : true;

    send->used = recv->used = true;
    if (collective->rooted == ROOTED_GATHER) {
        send->used = peer_of_root;
        recv->used = root;
    } else if (collective->rooted == ROOTED_SCATTER) {
        send->used = root;
        recv->used = peer_of_root;
    } else if (collective->rooted == ROOTED_BCAST) {
        send->used = false;
        recv->used = root || peer_of_root;
    }
    if (choice->in_place && !peers->inter && (root || collective->rooted == ROOTED_NOT)) {
        send->in_place = collective->in_place == IN_PLACE_SEND;
        recv->in_place = collective->in_place == IN_PLACE_RECV;
    }
    if (collective->exclusive && peers->rank == peers->group[0] && !send->in_place) {
        recv->used = false;
    }
    send->used = send->used && !send->in_place;
    recv->used = recv->used && !recv->in_place;
}

void stage_plan_make(const struct stage_types *types, const struct stage_choice *choice, const struct stage_peers *peers,
                     struct stage_plan *send, struct stage_plan *recv)
{
    const struct stage_collective *collective = choice->collective;

    *send = *recv = (struct stage_plan){0};
    assign_roles(choice, peers, send, recv);
    plan_side(types, choice, peers, collective->send, true, send);
    /* In place, the contribution lies where the result goes, and may be longer. */
    plan_side(types, choice, peers, send->in_place && collective->send == SIDE_SUM ? SIDE_SUM : collective->recv, false, recv);
    if (collective->send == SIDE_SUM) {
        ptrdiff_t low;
        part_bounds(recv->type[0], result_elements(choice, peers, index_in_group(peers)), &low, &recv->result_high);
    }
}

static void fill_arrays(const struct stage_plan *plan, enum stage_side side, struct stage_arrays *arrays)
{
    for (int i = 0; i < plan->parts; i++) {
        ptrdiff_t bytes = plan->at[i] * (ptrdiff_t)sizeof(int);

        arrays->counts[i] = plan->count[i];
        arrays->types[i] = plan->type[i]->type;
        arrays->byte_displs[i] = bytes;
        arrays->displs[i] = (int)(side == SIDE_W ? bytes : plan->at[i] / plan->type[i]->extent);
    }
}

static int index_of(const int *ranks, int count, int rank)
{
    for (int i = 0; i < count; i++) {
        if (ranks[i] == rank) {
            return i;
        }
    }
    return -1;
}

static int root_argument(const struct stage_choice *choice, const struct stage_peers *peers)
{
    int own = index_of(peers->group, peers->group_count, choice->root);

    if (!peers->inter) {
        return own;
    }
    if (own >= 0) {
        return choice->root == peers->rank ? MPI_ROOT : MPI_PROC_NULL;
    }
    return index_of(peers->from, peers->from_count, choice->root);
}

/* The counts of reduce_scatter are those of the results, wherever the contribution is. */
static void set_result_counts(const struct stage_choice *choice, const struct stage_peers *peers,
                              struct stage_arrays *recv_arrays, struct stage_arguments *arguments)
{
    arguments->rcount = result_elements(choice, peers, index_in_group(peers));
    for (int i = 0; i < peers->group_count; i++) {
        recv_arrays->counts[i] = result_elements(choice, peers, i);
    }
}

void stage_plan_arguments(const struct stage_types *types, const struct stage_choice *choice, const struct stage_peers *peers,
                          const struct stage_plan *send, const struct stage_plan *recv,
                          struct stage_arrays *send_arrays, struct stage_arrays *recv_arrays, struct stage_arguments *arguments)
{
    const struct stage_collective *collective = choice->collective;

    fill_arrays(send, collective->send, send_arrays);
    fill_arrays(recv, collective->recv, recv_arrays);
    *arguments = (struct stage_arguments){
        .comm = choice->comm, .root = root_argument(choice, peers), .op = choice->multiply ? types->multiply : MPI_SUM,
        .scount = send->count[0], .stype = send->parts ? send->type[0]->type : MPI_INT,
        .rcount = recv->count[0], .rtype = recv->parts ? recv->type[0]->type : MPI_INT,
        .scounts = send_arrays->counts, .sdispls = send_arrays->displs, .sbytes = send_arrays->byte_displs,
        .stypes = send_arrays->types,
        .rcounts = recv_arrays->counts, .rdispls = recv_arrays->displs, .rbytes = recv_arrays->byte_displs,
        .rtypes = recv_arrays->types,
    };
    if (collective->send == SIDE_SUM) {
        set_result_counts(choice, peers, recv_arrays, arguments);
    }
    if (collective->reduces && !choice->multiply) {   /* MPI_SUM adds the six ints of an element of the dense type */
        arguments->rtype = MPI_INT;
        arguments->rcount *= STAGE_INTS;
        for (int i = 0; i < peers->group_count && collective->send == SIDE_SUM; i++) {
            recv_arrays->counts[i] *= STAGE_INTS;
        }
    }
}
