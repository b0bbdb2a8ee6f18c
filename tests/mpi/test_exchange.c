/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alltoall, MPI_Alltoallv, MPI_Allgather, MPI_Allgatherv and MPI_Bcast on device buffers, with counts, types without gaps,
 * displacements and buffers as random numbers tell: every byte of both buffers must be as MPI says, also those that nobody
 * writes.
 *
 * Usage: test_exchange [path=NAME] [rounds=N] [seed=N] [most=ELEMENTS] PART...
 * with the parts random (in buffers that stay), reuse (in buffers that come and go), communicators
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/paths.h"
#include "tests/mpi/values.h"

enum { PEERS = 16, GAP = 3, TYPES = 5 };

enum what { ALLTOALL, ALLTOALLV, ALLGATHER, ALLGATHERV, BCAST, WHATS };

static const char *const names[WHATS] = { "alltoall", "alltoallv", "allgather", "allgatherv", "bcast" };

/* One side of a call: a part a peer, in elements from the buffer's address. */
struct side {
    int count[PEERS], at[PEERS];
    int elements;                  /* that the buffer must have */
};

struct test {
    struct harness *h;
    MPI_Datatype types[TYPES];
    uint64_t common, own;          /* random numbers: of all ranks, and of this one */
    int most;                      /* elements of a part */
    MPI_Comm comm;
    int rank, ranks;               /* in comm */
    uint64_t call;
};

struct call {
    enum what what;
    bool in_place;
    int root;
    MPI_Datatype type;
    int size;                      /* bytes of an element */
    int counts[PEERS][PEERS];      /* from, to */
    struct side send, recv;
};

/* Byte i of what `from` has for `to`. */
static unsigned char content(const struct test *t, int from, int to, int i)
{
    return (unsigned char)(t->call * 131 + (uint64_t)from * 31 + (uint64_t)to * 17 + (uint64_t)i * 7 + (uint64_t)i / 256);
}

static int draw(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}

/* Small and large ones, and none at all unless there must be some. */
static int draw_count(struct test *t, bool some)
{
    int limit = draw(&t->common, 3) ? 20 : t->most;

    return some || draw(&t->common, 4) ? 1 + draw(&t->common, limit) : 0;
}

/* Every rank has something to send or to receive: a rank without data would count as one with host buffers. */
static void draw_counts(struct test *t, struct call *c)
{
    int equal = draw_count(t, true);

    for (int from = 0; from < t->ranks; from++) {
        for (int to = 0; to < t->ranks; to++) {
            bool some = c->what == ALLTOALLV ? to == (from + 1) % t->ranks : from == c->root;
            bool again = c->what == ALLGATHERV ? to > 0 : c->in_place && from > to;
            int other = c->what == ALLGATHERV ? c->counts[from][0] : c->counts[to][from];

            c->counts[from][to] = c->what == BCAST && from != c->root ? 0
                : c->what != ALLGATHERV && c->what != ALLTOALLV ? equal
                : again ? other : draw_count(t, some);
        }
    }
}

static void draw_call(struct test *t, struct call *c)
{
    *c = (struct call){ .what = (enum what)draw(&t->common, WHATS), .root = draw(&t->common, t->ranks),
                        .type = t->types[draw(&t->common, TYPES)] };
    c->in_place = c->what != BCAST && draw(&t->common, 3) == 0;
    MPI_Type_size(c->type, &c->size);
    draw_counts(t, c);
}

/* Where the parts lie: one after the other, or, with displacements, as this rank draws, in any order and with gaps. */
static void lay_out(struct test *t, struct side *side, const int *counts, bool displaced)
{
    int start = draw(&t->own, t->ranks);

    side->elements = 0;
    for (int i = 0; i < t->ranks; i++) {
        int rank = displaced ? (start + i) % t->ranks : i;

        side->elements += displaced ? draw(&t->own, GAP) : 0;
        side->count[rank] = counts[rank];
        side->at[rank] = side->elements;
        side->elements += counts[rank];
    }
}

/* One part that is for all. */
static void lay_out_one(struct test *t, struct side *side, int count)
{
    for (int i = 0; i < t->ranks; i++) {
        side->count[i] = count;
        side->at[i] = 0;
    }
    side->elements = count;
}

static void lay_out_both(struct test *t, struct call *c)
{
    int from_all[PEERS];

    for (int from = 0; from < t->ranks; from++) {
        from_all[from] = c->counts[from][t->rank];
    }
    if (c->what == BCAST) {
        lay_out_one(t, &c->recv, c->counts[c->root][t->rank]);
    } else {
        lay_out(t, &c->recv, from_all, c->what == ALLTOALLV || c->what == ALLGATHERV);
    }
    if (c->what == ALLGATHER || c->what == ALLGATHERV) {
        lay_out_one(t, &c->send, c->counts[t->rank][0]);
    } else {
        lay_out(t, &c->send, c->counts[t->rank], c->what == ALLTOALLV);
    }
}

/* The parts of that side, as they were sent: by this rank to each, or by each to this rank. */
static void put_parts(const struct test *t, const struct call *c, const struct side *side, bool sent, unsigned char *image)
{
    bool for_all = c->what == ALLGATHER || c->what == ALLGATHERV || c->what == BCAST;

    for (int r = 0; r < t->ranks; r++) {
        int from = sent ? t->rank : c->what == BCAST ? c->root : r, to = for_all ? 0 : sent ? r : t->rank;

        for (int i = 0; i < side->count[r] * c->size; i++) {
            image[side->at[r] * c->size + i] = content(t, from, to, i);
        }
    }
}

static int call_mpi(const struct test *t, struct call *c, void *send, void *recv)
{
    struct side *s = &c->send, *r = &c->recv;

    switch (c->what) {
    case ALLTOALL:
        return MPI_Alltoall(send, s->count[0], c->type, recv, r->count[0], c->type, t->comm);
    case ALLTOALLV:
        return MPI_Alltoallv(send, s->count, s->at, c->type, recv, r->count, r->at, c->type, t->comm);
    case ALLGATHER:
        return MPI_Allgather(send, s->count[0], c->type, recv, r->count[0], c->type, t->comm);
    case ALLGATHERV:
        return MPI_Allgatherv(send, s->count[0], c->type, recv, r->count, r->at, c->type, t->comm);
    default:
        return MPI_Bcast(recv, r->count[0], c->type, c->root, t->comm);
    }
}

/* What the receive buffer holds before the call: in place, and at the root of a broadcast, also what this rank sends. */
static void fill_recv(const struct test *t, const struct call *c, unsigned char *image, size_t bytes)
{
    struct side mine = c->recv;

    memset(image, 0x5a, bytes);
    if (c->what == ALLTOALL || c->what == ALLTOALLV) {
        if (c->in_place) {
            put_parts(t, c, &mine, true, image);
        }
        return;
    }
    for (int r = 0; r < t->ranks && c->what != BCAST; r++) {
        mine.count[r] = r == t->rank && c->in_place ? mine.count[r] : 0;
    }
    if (c->what != BCAST || c->root == t->rank) {
        put_parts(t, c, &mine, true, image);
    }
}

/* Whoever may write what it has sent does so at once, in every other call: is anybody still fetching it? */
static void spoil(const struct test *t, const struct call *c, struct buffer *buffer, unsigned char *image)
{
    if (t->call % 2 == 0 && !c->in_place && (c->what != BCAST || c->root == t->rank)) {
        harness_need(t->h, gpufifo_fill(t->h->device, buffer->data, 0x77, buffer->bytes), "fill");
        memset(image, 0x77, buffer->bytes);
    }
}

static void check_call(struct test *t, struct call *c, struct buffer *send, struct buffer *recv)
{
    unsigned char *sent = host_alloc(t->h, send->bytes), *image = host_alloc(t->h, recv->bytes);
    unsigned char *got = host_alloc(t->h, send->bytes > recv->bytes ? send->bytes : recv->bytes);

    memset(sent, 0xa5, send->bytes);
    put_parts(t, c, &c->send, true, sent);
    buffer_write(send, sent);
    fill_recv(t, c, image, recv->bytes);
    buffer_write(recv, image);
    int result = call_mpi(t, c, c->in_place ? MPI_IN_PLACE : send->data, recv->data);

    put_parts(t, c, &c->recv, false, image);
    spoil(t, c, c->what == BCAST ? recv : send, c->what == BCAST ? image : sent);
    buffer_read(recv, got);
    harness_check(t->h, result == MPI_SUCCESS && memcmp(got, image, recv->bytes) == 0,
                  "call %llu, %s%s of elements of %d bytes: result %d, or wrong bytes", (unsigned long long)t->call,
                  names[c->what], c->in_place ? " in place" : "", c->size, result);
    buffer_read(send, got);
    harness_check(t->h, memcmp(got, sent, send->bytes) == 0, "call %llu, %s: the send buffer has changed",
                  (unsigned long long)t->call, names[c->what]);
    free(sent);
    free(image);
    free(got);
}

/* A buffer that holds so many bytes: `keep` tells whether an old one may do. */
static void renew(struct test *t, struct buffer *buffer, size_t bytes, bool keep)
{
    if (buffer->data && (buffer->bytes < bytes || !keep)) {
        buffer_destroy(buffer, "exchange");
        buffer->data = NULL;
    }
    if (!buffer->data) {
        buffer_create(t->h, buffer, GPUFIFO_MEMORY_DEVICE, bytes + (size_t)draw(&t->own, 100) + 1, (size_t)draw(&t->own, 4) * 16);
    }
}

static void check_rounds(struct test *t, int rounds, bool stay)
{
    struct buffer send = { 0 }, recv = { 0 };

    for (int round = 0; round < rounds; round++) {
        struct call c;

        t->call++;
        draw_call(t, &c);
        lay_out_both(t, &c);
        renew(t, &send, (size_t)c.send.elements * (size_t)c.size, stay || draw(&t->own, 3) > 0);
        renew(t, &recv, (size_t)c.recv.elements * (size_t)c.size, stay || draw(&t->own, 3) > 0);
        check_call(t, &c, &send, &recv);
    }
    if (send.data) {
        buffer_destroy(&send, "exchange");
        buffer_destroy(&recv, "exchange");
    }
}

static void enter_comm(struct test *t, MPI_Comm comm)
{
    t->comm = comm;
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->ranks);
}

/* A copy, and one in which rank 0 is alone and the others have changed places. */
static void check_communicators(struct test *t, int rounds)
{
    MPI_Comm comms[2];
    uint64_t common = t->common;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, t->h->rank == 0, -t->h->rank, &comms[1]);
    for (int i = 0; i < 4; i++) {
        enter_comm(t, comms[i % 2]);
        t->common = common + (uint64_t)i;
        check_rounds(t, rounds / 4, false);
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    enter_comm(t, MPI_COMM_WORLD);
}

static void run_part(struct test *t, const char *part, int rounds)
{
    if (strcmp(part, "random") == 0) {
        check_rounds(t, rounds, true);
    } else if (strcmp(part, "reuse") == 0) {
        check_rounds(t, rounds, false);
    } else if (strcmp(part, "communicators") == 0) {
        check_communicators(t, rounds);
    } else {
        harness_check(t->h, false, "there is no part \"%s\": random, reuse, communicators", part);
    }
}

static void make_types(struct test *t)
{
    const MPI_Datatype plain[TYPES] = { MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_2INT, MPI_DATATYPE_NULL };

    memcpy(t->types, plain, sizeof plain);
    MPI_Type_contiguous(5, MPI_SHORT, &t->types[TYPES - 1]);
    MPI_Type_commit(&t->types[TYPES - 1]);
}

static void set_seed(struct test *t, uint64_t seed)
{
    t->common = seed;
    t->own = seed * 1000 + (uint64_t)t->h->rank;
}

int main(int argc, char **argv)
{
    struct harness h;
    struct test t = { .h = &h, .most = 3000 };
    struct paths_counters counters;
    const char *path = NULL;
    int rounds = 150;

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= PEERS ? MPI_SUCCESS : MPI_ERR_ARG, "at most 16 ranks");
    make_types(&t);
    enter_comm(&t, MPI_COMM_WORLD);
    set_seed(&t, 1);
    paths_open(&counters);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "path=", 5) == 0) {
            path = argv[i] + 5;
        } else if (strncmp(argv[i], "rounds=", 7) == 0) {
            rounds = atoi(argv[i] + 7);
        } else if (strncmp(argv[i], "most=", 5) == 0) {
            t.most = atoi(argv[i] + 5);
        } else if (strncmp(argv[i], "seed=", 5) == 0) {
            set_seed(&t, strtoull(argv[i] + 5, NULL, 10));
        } else {
            run_part(&t, argv[i], rounds);
        }
    }
    if (path) {
        harness_check_path(&h, path, &counters);
    }
    paths_close(&counters);
    MPI_Type_free(&t.types[TYPES - 1]);
    return harness_finish(&h);
}
