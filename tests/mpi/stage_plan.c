/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing counts, types and displacements.
 */
#include "tests/mpi/stage_plan.h"

#include <stdlib.h>

#include "tests/mpi/values.h"

/* What both groups of an intercommunicator reduce and scatter must be as much, whatever their size: a multiple of this. */
enum { INTER_TOTAL = 12 };

int stage_draw(uint64_t seed, int a, int b, int limit)
{
    uint64_t state = seed ^ ((uint64_t)(unsigned)(a + 2) << 32) ^ ((uint64_t)(unsigned)(b + 2) << 48);

    random_next(&state);
    return (int)((random_next(&state) >> 16) % (uint64_t)limit);
}

/* From `fewest` on; few or, more seldom, many. */
static int some_elements(const struct stage_choice *choice, int a, int b, int fewest)
{
    bool many = choice->most > STAGE_COLUMNS && stage_draw(choice->seed, a + 100, b, 4) == 0;

    return fewest + stage_draw(choice->seed, a, b, (many ? choice->most : STAGE_COLUMNS) + 1 - fewest);
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
        return some_elements(choice, 0, 0, 1);
    }
    if (choice->in_place && collective->by_sender && collective->by_receiver) {
        return some_elements(choice, from < to ? from : to, from < to ? to : from, 1);
    }
    return some_elements(choice, collective->by_sender ? from : 0, collective->by_receiver ? to : 0, 0);
}

/* What the reduce_scatter family leaves at one rank of this rank's group. */
static int result_elements(const struct stage_choice *choice, const struct stage_peers *peers, int index)
{
    int ranks = peers->group_count, total = INTER_TOTAL * (choice->most / STAGE_COLUMNS);

    if (!peers->inter || choice->empty) {
        return elements(choice, 0, peers->group[index]);
    }
    return total / ranks + (index == ranks - 1 && choice->collective->by_receiver ? total % ranks : 0);
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
        *low = type->low + (last < 0 ? last : 0);
        *high = type->high + (last > 0 ? last : 0);
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
    ptrdiff_t cursor = (stage_draw(seed, rank, 1, 3) - 1) * 800;

    for (int k = 0; k < plan->parts; k++) {
        int i = backwards ? plan->parts - 1 - k : k;
        ptrdiff_t low, high;

        part_bounds(plan->type[i], plan->count[i], &low, &high);
        plan->at[i] = cursor - low + stage_draw(seed, rank, 2 + i, 29);
        if (side == SIDE_V) {
            plan->at[i] = round_up(plan->at[i], labs(plan->type[i]->extent));
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
static const struct stage_type *pick_type(const struct stage_types *types, const struct stage_choice *choice, uint64_t seed,
                                          int a, int b, int together, bool direct)
{
    int name = choice->dense ? STAGE_DENSE : stage_draw(seed, a, b, STAGE_TYPES);

    if ((name == STAGE_COLUMN && together > STAGE_COLUMNS) || (name == STAGE_BACKWARD && !direct)) {
        name = STAGE_GAPS;
    }
    return &types->type[name];
}

/* Open MPI's trees gather and scatter the parts of several ranks in memory that a rank lays out as its own. */
static bool through_a_tree(const struct stage_collective *collective, enum stage_side side)
{
    return side == SIDE_ONE && !collective->by_sender && !collective->by_receiver
        && (collective->rooted == ROOTED_GATHER || collective->rooted == ROOTED_SCATTER);
}

static void place_parts(const struct stage_types *types, const struct stage_choice *choice, enum stage_side side, bool sends,
                        const struct stage_peers *peers, struct stage_plan *plan)
{
    uint64_t seed = choice->seed + (sends ? 1000 : 2000);
    bool apart = side == SIDE_V || side == SIDE_W;
    int total = 0, most = 0, rank = peers->rank;

    for (int i = 0; i < plan->parts; i++) {
        total += plan->count[i];
        most = plan->count[i] > most ? plan->count[i] : most;
    }
    if (through_a_tree(choice->collective, side)) {
        total *= peers->group_count;
    }
    for (int i = 0; i < plan->parts; i++) {
        plan->type[i] = pick_type(types, choice, seed, rank, side == SIDE_W ? 20 + i : 20, apart ? most : total,
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
        place_parts(types, choice, side, sends, peers, plan);
    } else {   /* all ranks and both sides have one type, which must suit the longest buffer */
        int longest = choice->collective->send == SIDE_SUM ? STAGE_COLUMNS + 1 : elements(choice, 0, 0);
        plan->type[0] = choice->op ? &types->type[STAGE_DENSE] : pick_type(types, choice, choice->seed, 0, 20, longest, false);
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
        arrays->counts[i] = plan->count[i];
        arrays->types[i] = plan->type[i]->type;
        arrays->byte_displs[i] = plan->at[i];
        arrays->displs[i] = (int)(side == SIDE_W ? plan->at[i] : plan->at[i] / plan->type[i]->extent);
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
        .comm = choice->comm, .root = root_argument(choice, peers), .op = choice->op ? choice->op->op : types->multiply,
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
    if (collective->reduces && choice->op) {
        arguments->rtype = types->element->type;
        arguments->rcount *= types->elements;
        for (int i = 0; i < peers->group_count && collective->send == SIDE_SUM; i++) {
            recv_arrays->counts[i] *= types->elements;
        }
    }
}
