/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing a call, laying out its parts, and what they hold.
 */
#include "tests/mpi/exchange_call.h"

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

void exchange_enter(struct exchange_source *t, MPI_Comm comm)
{
    t->comm = comm;
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->ranks);
}

/* Small and large ones, and none at all. */
static int draw_count(struct exchange_source *t)
{
    int limit = exchange_draw(&t->common, 3) ? 20 : t->most;

    return exchange_draw(&t->common, 4) ? 1 + exchange_draw(&t->common, limit) : 0;
}

/* Has `from` a block for `to`? */
static bool takes_part(const struct exchange_call *c, int from, int to)
{
    enum pairs pairs = kinds[c->what].pairs;

    return pairs == EVERY || (pairs == FROM_ROOT ? from : to) == c->root;
}

/* In place, alltoall swaps: a block is as long as the one for which it makes room. */
static void draw_counts(struct exchange_source *t, struct exchange_call *c, bool swaps)
{
    int equal = draw_count(t);

    for (int from = 0; from < t->ranks; from++) {
        for (int to = 0; to < t->ranks; to++) {
            int *count = &c->counts[from][to];

            if (!takes_part(c, from, to)) {
                *count = 0;
            } else if (kinds[c->what].equal) {
                *count = equal;
            } else if (kinds[c->what].same_for_all && to > 0) {
                *count = c->counts[from][0];
            } else {
                *count = swaps && from > to ? c->counts[to][from] : draw_count(t);
            }
        }
    }
}

/* Where the parts lie: one after the other, or, with displacements, as this rank draws, in any order and with gaps. */
static void lay_out(struct exchange_source *t, const struct exchange_call *c, struct exchange_side *side, const int *counts,
                    bool displaced)
{
    int start = exchange_draw(&t->own, t->ranks);

    side->elements = 0;
    for (int i = 0; i < t->ranks; i++) {
        int rank = displaced ? (start + i) % t->ranks : i;

        side->elements += displaced ? exchange_draw(&t->own, GAP) : 0;
        side->count[rank] = counts[rank];
        side->at[rank] = side->elements;
        side->bytes_at[rank] = side->elements * c->size;
        side->types[rank] = c->type;
        side->elements += counts[rank];
    }
}

/* One part that is for all. */
static void lay_out_one(const struct exchange_source *t, struct exchange_side *side, int count)
{
    for (int i = 0; i < t->ranks; i++) {
        side->count[i] = count;
        side->at[i] = 0;
    }
    side->elements = count;
}

static void lay_out_both(struct exchange_source *t, struct exchange_call *c)
{
    int from_all[EXCHANGE_PEERS];

    for (int from = 0; from < t->ranks; from++) {
        from_all[from] = c->recv_in_place ? 0 : c->counts[from][t->rank];
    }
    if (c->what == BCAST) {
        lay_out_one(t, &c->recv, c->counts[c->root][t->rank]);
        lay_out_one(t, &c->send, 0);
        return;
    }
    lay_out(t, c, &c->recv, from_all, kinds[c->what].displaced_recv);
    if (kinds[c->what].same_for_all) {
        lay_out_one(t, &c->send, c->counts[t->rank][0]);
    } else {
        lay_out(t, c, &c->send, c->counts[t->rank], kinds[c->what].displaced_send);
    }
}

/* In alltoallw, every other pair counts its elements in bytes. */
static void mix_types(const struct exchange_source *t, const struct exchange_call *c, struct exchange_side *side)
{
    for (int rank = 0; rank < t->ranks; rank++) {
        if (c->what == ALLTOALLW && (rank + t->rank) % 2) {
            side->types[rank] = MPI_BYTE;
            side->count[rank] *= c->size;
        }
    }
}

void exchange_draw_call(struct exchange_source *t, struct exchange_call *c)
{
    *c = (struct exchange_call){ .what = (enum exchange_what)exchange_draw(&t->common, EXCHANGE_WHATS),
                                 .root = exchange_draw(&t->common, t->ranks),
                                 .type = t->types[exchange_draw(&t->common, EXCHANGE_TYPES)] };
    bool in_place = c->what != BCAST && exchange_draw(&t->common, 3) == 0;
    bool concerns = kinds[c->what].pairs == EVERY || t->rank == c->root;

    c->recv_in_place = in_place && concerns && kinds[c->what].pairs == FROM_ROOT;
    c->send_in_place = in_place && concerns && !c->recv_in_place;
    MPI_Type_size(c->type, &c->size);
    draw_counts(t, c, in_place);
    lay_out_both(t, c);
    t->call++;
}

/* The parts of that side, as they were sent: by this rank to each, or by each to this rank. */
static void put_parts(const struct exchange_source *t, const struct exchange_call *c, const struct exchange_side *side, bool sent,
                      unsigned char *image)
{
    for (int r = 0; r < t->ranks; r++) {
        int from = sent ? t->rank : c->what == BCAST ? c->root : r;
        int to = kinds[c->what].same_for_all ? 0 : sent ? r : t->rank;

        for (int i = 0; i < side->count[r] * c->size; i++) {
            image[side->at[r] * c->size + i] = content(t, from, to, i);
        }
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

int exchange_run(const struct exchange_source *t, struct exchange_call *c, void *send, void *recv)
{
    struct exchange_side *s = &c->send, *r = &c->recv;
    int to = kinds[c->what].pairs == TO_ROOT ? c->root : 0, from = kinds[c->what].pairs == FROM_ROOT ? c->root : 0;

    mix_types(t, c, s);
    mix_types(t, c, r);
    switch (c->what) {
    case ALLTOALL:
        return MPI_Alltoall(send, s->count[0], c->type, recv, r->count[0], c->type, t->comm);
    case ALLTOALLV:
        return MPI_Alltoallv(send, s->count, s->at, c->type, recv, r->count, r->at, c->type, t->comm);
    case ALLTOALLW:
        return MPI_Alltoallw(send, s->count, s->bytes_at, s->types, recv, r->count, r->bytes_at, r->types, t->comm);
    case ALLGATHER:
        return MPI_Allgather(send, s->count[0], c->type, recv, r->count[0], c->type, t->comm);
    case ALLGATHERV:
        return MPI_Allgatherv(send, s->count[0], c->type, recv, r->count, r->at, c->type, t->comm);
    case BCAST:
        return MPI_Bcast(recv, r->count[0], c->type, c->root, t->comm);
    case GATHER:
        return MPI_Gather(send, s->count[to], c->type, recv, r->count[0], c->type, c->root, t->comm);
    case GATHERV:
        return MPI_Gatherv(send, s->count[to], c->type, recv, r->count, r->at, c->type, c->root, t->comm);
    case SCATTER:
        return MPI_Scatter(send, s->count[0], c->type, recv, r->count[from], c->type, c->root, t->comm);
    default:
        return MPI_Scatterv(send, s->count, s->at, c->type, recv, r->count[from], c->type, c->root, t->comm);
    }
}
