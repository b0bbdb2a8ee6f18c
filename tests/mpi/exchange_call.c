/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing a call, laying out its parts, and what they hold.
 */
#include "tests/mpi/exchange_call.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 3 };

/* Who has a block for whom, and with which arguments the parts are passed. */
enum pairs { EVERY, FROM_ROOT, TO_ROOT };

static const struct {
    const char *name;
    enum pairs pairs;
    bool displaced_send, displaced_recv;   /* there are counts and displacements a rank */
    bool equal;                            /* all blocks are as long */
    bool same_for_all;                     /* a rank's blocks for others are one */
} kinds[EXCHANGE_WHATS] = {
    [ALLTOALL] = { "alltoall", EVERY, .equal = true },
    [ALLTOALLV] = { "alltoallv", EVERY, .displaced_send = true, .displaced_recv = true },
    [ALLTOALLW] = { "alltoallw", EVERY, .displaced_send = true, .displaced_recv = true },
    [ALLGATHER] = { "allgather", EVERY, .equal = true, .same_for_all = true },
    [ALLGATHERV] = { "allgatherv", EVERY, .displaced_recv = true, .same_for_all = true },
    [BCAST] = { "bcast", FROM_ROOT, .equal = true, .same_for_all = true },
    [GATHER] = { "gather", TO_ROOT, .equal = true },
    [GATHERV] = { "gatherv", TO_ROOT, .displaced_recv = true },
    [SCATTER] = { "scatter", FROM_ROOT, .equal = true },
    [SCATTERV] = { "scatterv", FROM_ROOT, .displaced_send = true },
    [NEIGHBOR_ALLTOALL] = { "neighbor_alltoall", EVERY, .equal = true },
    [NEIGHBOR_ALLTOALLV] = { "neighbor_alltoallv", EVERY, .displaced_send = true, .displaced_recv = true },
    [NEIGHBOR_ALLTOALLW] = { "neighbor_alltoallw", EVERY, .displaced_send = true, .displaced_recv = true },
    [NEIGHBOR_ALLGATHER] = { "neighbor_allgather", EVERY, .equal = true, .same_for_all = true },
    [NEIGHBOR_ALLGATHERV] = { "neighbor_allgatherv", EVERY, .displaced_recv = true, .same_for_all = true },
};

const char *exchange_name(const struct exchange_call *c)
{
    return kinds[c->what].name;
}

/* Byte i of what `from` has for `to`. */
static unsigned char content(const struct exchange_source *t, int from, int to, int i)
{
    return (unsigned char)(t->call * 131 + (uint64_t)from * 31 + (uint64_t)to * 17 + (uint64_t)i * 7 + (uint64_t)i / 256);
}

int exchange_draw(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}

static void find_neighbours(struct exchange_source *t, int topology)
{
    int weights[EXCHANGE_PEERS], dimensions = 0, weighted;

    if (topology == MPI_CART) {
        MPI_Cartdim_get(t->comm, &dimensions);
        for (int i = 0; i < dimensions; i++) {
            MPI_Cart_shift(t->comm, i, 1, &t->to.rank[2 * i], &t->to.rank[2 * i + 1]);
        }
        t->to.count = 2 * dimensions;
        t->from = t->to;
    } else if (topology == MPI_GRAPH) {
        MPI_Graph_neighbors_count(t->comm, t->rank, &t->to.count);
        MPI_Graph_neighbors(t->comm, t->rank, t->to.count, t->to.rank);
        t->from = t->to;
    } else {
        MPI_Dist_graph_neighbors_count(t->comm, &t->from.count, &t->to.count, &weighted);
        MPI_Dist_graph_neighbors(t->comm, t->from.count, t->from.rank, weights, t->to.count, t->to.rank, weights);
    }
}

static void add_type(struct exchange_source *t, int index, MPI_Datatype plain, MPI_Datatype gaps)
{
    struct exchange_type *type = &t->types[index];

    type->types[0] = plain;
    type->types[1] = gaps;
    MPI_Type_size(plain, &type->size);
    for (int i = 0; i < 2; i++) {
        MPI_Aint lower, extent;

        MPI_Type_commit(&type->types[i]);
        MPI_Type_get_extent(type->types[i], &lower, &extent);
        type->extents[i] = (int)extent;
    }
}

/* Each derived one has a twin without gaps. */
void exchange_make_types(struct exchange_source *t)
{
    const MPI_Datatype predefined[] = { MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_2INT };
    int lengths[] = { 1, 3, 2 }, places[] = { 5, 0, 8 };
    MPI_Datatype plain, gaps, vector;

    for (int i = 0; i < 4; i++) {
        add_type(t, i, predefined[i], predefined[i]);
    }
    MPI_Type_contiguous(5, MPI_SHORT, &plain);
    MPI_Type_create_resized(plain, 0, 14, &gaps);
    add_type(t, 4, plain, gaps);
    MPI_Type_contiguous(6, MPI_INT, &plain);
    MPI_Type_vector(3, 2, 5, MPI_INT, &gaps);
    add_type(t, 5, plain, gaps);
    MPI_Type_contiguous(6, MPI_CHAR, &plain);
    MPI_Type_indexed(3, lengths, places, MPI_CHAR, &gaps);
    add_type(t, 6, plain, gaps);
    MPI_Type_contiguous(8, MPI_DOUBLE, &plain);
    MPI_Type_vector(2, 2, 3, MPI_DOUBLE, &vector);
    MPI_Type_create_hvector(2, 1, 72, vector, &gaps);
    MPI_Type_free(&vector);
    add_type(t, 7, plain, gaps);
}

void exchange_free_types(struct exchange_source *t)
{
    for (int i = 4; i < EXCHANGE_TYPES; i++) {
        MPI_Type_free(&t->types[i].types[0]);
        MPI_Type_free(&t->types[i].types[1]);
    }
}

void exchange_enter(struct exchange_source *t, MPI_Comm comm)
{
    int topology, mine[EXCHANGE_PEERS] = { 0 };

    t->comm = comm;
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->ranks);
    MPI_Topo_test(comm, &topology);
    t->neighbours = topology != MPI_UNDEFINED;
    if (t->neighbours) {
        find_neighbours(t, topology);
    } else {
        t->to.count = t->ranks;
        for (int r = 0; r < t->ranks; r++) {
            t->to.rank[r] = r;
        }
        t->from = t->to;
    }
    for (int i = 0; i < t->to.count; i++) {
        if (t->to.rank[i] >= 0) {
            mine[t->to.rank[i]] = 1;
        }
    }
    MPI_Allgather(mine, EXCHANGE_PEERS, MPI_INT, t->edges, EXCHANGE_PEERS, MPI_INT, comm);
}

/* Small and large ones, and none at all. */
static int draw_count(struct exchange_source *t)
{
    int limit = exchange_draw(&t->common, 3) ? 20 : t->most;

    return exchange_draw(&t->common, 4) ? 1 + exchange_draw(&t->common, limit) : 0;
}

/* Has `from` a block for `to`? */
static bool takes_part(const struct exchange_source *t, const struct exchange_call *c, int from, int to)
{
    enum pairs pairs = kinds[c->what].pairs;

    return pairs == EVERY ? t->edges[from][to] : (pairs == FROM_ROOT ? from : to) == c->root;
}

/* In place, alltoall swaps: a block is as long as the one for which it makes room. */
static void draw_counts(struct exchange_source *t, struct exchange_call *c, bool swaps)
{
    c->equal = draw_count(t);
    for (int from = 0; from < t->ranks; from++) {
        int one = kinds[c->what].equal ? c->equal : draw_count(t);

        for (int to = 0; to < t->ranks; to++) {
            int *count = &c->counts[from][to];

            if (!takes_part(t, c, from, to)) {
                *count = 0;
            } else if (kinds[c->what].equal || kinds[c->what].same_for_all) {
                *count = one;
            } else {
                *count = swaps && from > to ? c->counts[to][from] : draw_count(t);
            }
        }
    }
}

/* Where the parts lie: one after the other, or, with displacements, as this rank draws, in any order and with gaps. counts: by
 * rank. */
static void lay_out(struct exchange_source *t, const struct exchange_call *c, struct exchange_side *side, const int *counts,
                    bool displaced)
{
    int start = exchange_draw(&t->own, EXCHANGE_PEERS), parts = side->peers->count;

    side->elements = 0;
    for (int i = 0; i < parts; i++) {
        int part = displaced ? (start + i) % parts : i, rank = side->peers->rank[part];
        bool missing = rank == MPI_PROC_NULL;

        side->elements += displaced ? exchange_draw(&t->own, GAP) : 0;
        side->count[part] = missing ? 0 : counts[rank];
        side->at[part] = side->elements;
        side->elements += missing && kinds[c->what].equal ? c->equal : side->count[part];
    }
}

/* One part that is for all. */
static void lay_out_one(struct exchange_side *side, int count)
{
    for (int i = 0; i < side->peers->count; i++) {
        side->count[i] = count;
        side->at[i] = 0;
    }
    side->elements = count;
}

static int most_of(const int *counts, int count)
{
    int most = 0;

    for (int i = 0; i < count; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    return most;
}

static void draw_layout(struct exchange_source *t, const struct exchange_type *type, struct exchange_side *side)
{
    int which = exchange_draw(&t->own, 2);

    side->type = type->types[which];
    side->extent = type->extents[which];
}

static void lay_out_both(struct exchange_source *t, struct exchange_call *c, const struct exchange_type *type)
{
    int from_all[EXCHANGE_PEERS];

    c->send.peers = &t->to;
    c->recv.peers = &t->from;
    draw_layout(t, type, &c->recv);
    draw_layout(t, type, &c->send);
    for (int from = 0; from < t->ranks; from++) {
        from_all[from] = c->recv_in_place ? 0 : c->counts[from][t->rank];
    }
    if (c->what == BCAST) {
        lay_out_one(&c->recv, c->equal);
        lay_out_one(&c->send, 0);
        return;
    }
    lay_out(t, c, &c->recv, from_all, kinds[c->what].displaced_recv);
    if (kinds[c->what].same_for_all) {
        lay_out_one(&c->send, kinds[c->what].equal ? c->equal : most_of(c->counts[t->rank], t->ranks));
    } else {
        lay_out(t, c, &c->send, c->counts[t->rank], kinds[c->what].displaced_send);
    }
}

/* In place and without any data, a rank of Open MPI 4.1 is out of step with the others' non-blocking calls from then on, host
 * programs too. */
static void give_each_some(const struct exchange_source *t, struct exchange_call *c)
{
    for (int r = 0; r < t->ranks && kinds[c->what].displaced_send && kinds[c->what].displaced_recv; r++) {
        c->counts[r][r] += c->counts[r][r] == 0;
    }
}

void exchange_draw_call(struct exchange_source *t, struct exchange_call *c)
{
    int what = t->neighbours ? NEIGHBOR_ALLTOALL + exchange_draw(&t->common, EXCHANGE_WHATS - NEIGHBOR_ALLTOALL)
                             : exchange_draw(&t->common, NEIGHBOR_ALLTOALL);

    *c = (struct exchange_call){ .what = (enum exchange_what)what,
                                 .root = exchange_draw(&t->common, t->ranks) };
    const struct exchange_type *type = &t->types[exchange_draw(&t->common, EXCHANGE_TYPES)];
    bool in_place = c->what != BCAST && !t->neighbours && exchange_draw(&t->common, 3) == 0;
    bool concerns = kinds[c->what].pairs == EVERY || t->rank == c->root;

    c->recv_in_place = in_place && concerns && kinds[c->what].pairs == FROM_ROOT;
    c->send_in_place = in_place && concerns && !c->recv_in_place;
    c->size = type->size;
    draw_counts(t, c, in_place);
    if (in_place && t->form != EXCHANGE_BLOCKING) {
        give_each_some(t, c);
    }
    lay_out_both(t, c, type);
    t->call++;
}

static void put_part(const struct exchange_source *t, const struct exchange_call *c, const struct exchange_side *side, int part,
                     int from, int to, unsigned char *image)
{
    int bytes = side->count[part] * c->size, at = 0;
    unsigned char *data = host_alloc(t->h, (size_t)bytes);

    for (int i = 0; i < bytes; i++) {
        data[i] = content(t, from, to, i);
    }
    MPI_Unpack(data, bytes, &at, image + side->at[part] * side->extent, side->count[part], side->type, t->comm);
    free(data);
}

/* The parts of that side, as they were sent: by this rank to each, or by each to this rank. */
static void put_parts(const struct exchange_source *t, const struct exchange_call *c, const struct exchange_side *side, bool sent,
                      unsigned char *image)
{
    for (int part = 0; part < side->peers->count; part++) {
        int rank = side->peers->rank[part], from = sent ? t->rank : c->what == BCAST ? c->root : rank;
        int to = kinds[c->what].same_for_all ? 0 : sent ? rank : t->rank;

        put_part(t, c, side, part, from, to, image);
    }
}

void exchange_fill_send(const struct exchange_source *t, const struct exchange_call *c, unsigned char *image, size_t bytes)
{
    memset(image, 0xa5, bytes);
    put_parts(t, c, &c->send, true, image);
}

/* In place, and at the root of a broadcast, also what this rank sends. */
void exchange_fill_recv(const struct exchange_source *t, const struct exchange_call *c, unsigned char *image, size_t bytes)
{
    struct exchange_side mine = c->recv;
    bool swaps = c->what == ALLTOALL || c->what == ALLTOALLV || c->what == ALLTOALLW;

    memset(image, 0x5a, bytes);
    for (int r = 0; r < t->ranks && c->what != BCAST && !swaps; r++) {
        mine.count[r] = r == t->rank ? mine.count[r] : 0;
    }
    if (c->what == BCAST ? c->root == t->rank : c->send_in_place) {
        put_parts(t, c, &mine, true, image);
    }
}

void exchange_expect_recv(const struct exchange_source *t, const struct exchange_call *c, unsigned char *image)
{
    put_parts(t, c, &c->recv, false, image);
}
