/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing the arguments of a collective, and comparing what it did on tested and on reference buffers.
 */
#include "tests/mpi/stage_case.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/stage_peers.h"
#include "tests/mpi/values.h"

enum { MARGIN = 64, MOST_ELEMENTS = 4 };

/* A number below `limit` that depends on all of its arguments. */
static int draw(uint64_t seed, int a, int b, int limit)
{
    uint64_t state = seed ^ ((uint64_t)(a + 1) << 32) ^ ((uint64_t)(b + 1) << 48);

    random_next(&state);
    return (int)((random_next(&state) >> 16) % (uint64_t)limit);
}

/* Elements that go from one rank of MPI_COMM_WORLD to another; both compute it. */
static int elements(const struct stage_choice *choice, int from, int to)
{
    const struct stage_collective *collective = choice->collective;

    if (choice->empty) {
        return 0;
    }
    if (!collective->by_sender && !collective->by_receiver) {
        return 1 + draw(choice->seed, 0, 0, MOST_ELEMENTS);
    }
    return draw(choice->seed, collective->by_sender ? from : 0, collective->by_receiver ? to : 0, MOST_ELEMENTS + 1);
}

/* The lowest and one past the highest int of a part whose origin is at 0. */
static void part_bounds(const struct stage_type *type, int count, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t last = (ptrdiff_t)(count - 1) * type->extent;
    int first = type->at[0], end = type->at[STAGE_INTS - 1] + 1;

    *low = count == 0 ? 0 : first + (last < 0 ? last : 0);
    *high = count == 0 ? 0 : end + (last > 0 ? last : 0);
}

/* Rounded up to a multiple of `step`, which is positive. */
static ptrdiff_t round_up(ptrdiff_t value, ptrdiff_t step)
{
    ptrdiff_t rest = value % step;

    return rest == 0 ? value : value - rest + (rest > 0 ? step : 0);
}

/* Parts one after another in the order of `order`, with random holes. Displacements of SIDE_V are multiples of the extent. */
static void place_parts(struct stage_plan *plan, enum stage_side side, uint64_t seed, int rank)
{
    ptrdiff_t cursor = draw(seed, rank, 1, 5) - 40;

    for (int k = 0; k < plan->parts; k++) {
        int i = (k * 7 + draw(seed, rank, 2, 16)) % plan->parts;   /* 7 is prime to the number of parts below 7 only */
        ptrdiff_t low, high;

        if (plan->parts % 7 == 0) {
            i = k;
        }
        part_bounds(plan->type[i], plan->count[i], &low, &high);
        ptrdiff_t origin = cursor - low + draw(seed, rank, 10 + i, 7);
        if (side == SIDE_V) {
            origin = round_up(origin, labs(plan->type[i]->extent));
        }
        plan->at[i] = origin;
        cursor = origin + high;
    }
}

static void measure(struct stage_plan *plan)
{
    bool any = false;

    for (int i = 0; i < plan->parts; i++) {
        ptrdiff_t low, high;

        if (plan->count[i] == 0) {
            continue;
        }
        part_bounds(plan->type[i], plan->count[i], &low, &high);
        low += plan->at[i];
        high += plan->at[i];
        plan->low = !any || low < plan->low ? low : plan->low;
        plan->high = !any || high > plan->high ? high : plan->high;
        any = true;
    }
}

/* Up to four columns interleave; more parts or elements would overlap. */
static const struct stage_type *fitting(const struct stage_types *types, int name, int total)
{
    return &types->type[name == STAGE_COLUMN && total > STAGE_COLUMNS ? STAGE_GAPS : name];
}

static void plan_side(struct stage_case *c, struct stage_plan *plan, enum stage_side side, bool sends, const struct stage_peers *peers)
{
    const struct stage_choice *choice = &c->choice;
    int other = sends ? 1 : 2, me = c->h->rank, total = 0;
    int name = draw(choice->seed, sends && !choice->collective->reduces ? me : 0, 20 + other, STAGE_TYPES);
    const int *ranks = sends ? peers->to : peers->from;

    if (choice->collective->reduces) {
        name = choice->multiply ? draw(choice->seed, 0, 21, STAGE_TYPES) : STAGE_DENSE;
    }
    plan->parts = side == SIDE_ONE || side == SIDE_SUM ? 1 : sends ? peers->to_count : peers->from_count;
    for (int i = 0; i < plan->parts; i++) {
        int peer = plan->parts == 1 && (side == SIDE_ONE || side == SIDE_SUM) ? peers->single : ranks[i];
        plan->count[i] = sends ? elements(choice, me, peer) : elements(choice, peer, me);
        total += plan->count[i];
    }
    if (side == SIDE_SUM) {
        plan->count[0] = stage_peers_sum(choice, peers, elements);
        total = plan->count[0];
    }
    for (int i = 0; i < plan->parts; i++) {
        int of_part = side == SIDE_W ? draw(choice->seed, me, 30 + i + 100 * other, STAGE_TYPES) : name;
        plan->type[i] = fitting(c->types, of_part, side == SIDE_EQUAL || side == SIDE_SUM || side == SIDE_ONE ? total : plan->count[i]);
    }
    if (side == SIDE_V || side == SIDE_W) {
        place_parts(plan, side, choice->seed + (uint64_t)other, me);
    } else {
        for (int i = 0; i < plan->parts; i++) {
            plan->at[i] = (ptrdiff_t)i * plan->count[i] * plan->type[i]->extent;
        }
    }
    measure(plan);
}
