/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan on device buffers, with counts, types,
 * operations, roots and places of buffers as random numbers tell: what is reduced must be right, and every other byte of both
 * buffers must be as it was.
 *
 * Usage: test_reductions [path=NAME] [rounds=N] [seed=N] [most=ELEMENTS] PART...
 * with the parts random (in buffers that stay), reuse (in buffers that come and go), mixed (some ranks have host buffers),
 * communicators, long (of more bytes than are under way at a time), repeated (with the same bits each time), disagree (in the
 * count of the call what=N, which is an error), failing (by the fault setting, once at some rank at least)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/parts.h"
#include "tests/mpi/values.h"

enum { PEERS = 16 };

enum what { REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, WHATS };

static const char *const names[WHATS] = { "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan" };

struct test {
    struct harness *h;
    uint64_t common, own;          /* random numbers: of all ranks, and of this one */
    int most;                      /* elements of a part */
    bool mixed;
    bool may_fail;                 /* calls may, as MPI tells this rank */
    int failed;                    /* calls at this rank */
    enum what what;                /* in which ranks disagree */
    MPI_Comm comm;
    int rank, ranks;               /* in comm */
    uint64_t call;
};

/* One call, with what this rank gives and gets. */
struct call {
    enum what what;
    bool in_place;                 /* here */
    int root;
    const struct test_type *type;
    const struct test_op *op;
    int counts[PEERS];             /* of the ranks' results; of a reduce and a scan, all the same */
    size_t given;                  /* elements of a contribution */
    size_t first, got;             /* the elements of them that this rank gets, */
    int inputs;                    /* reduced over so many ranks */
};

static int draw(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}

/* Small and large ones, and none. */
static int draw_count(struct test *t, bool some)
{
    int limit = draw(&t->common, 3) ? 20 : t->most;

    return some || draw(&t->common, 4) ? 1 + draw(&t->common, limit) : 0;
}

static void draw_type(struct test *t, struct call *c)
{
    const struct test_type *types;
    const struct test_op *ops;
    size_t type_count = test_types(&types), op_count = test_ops(&ops);

    do {
        c->type = &types[draw(&t->common, (int)type_count)];
        c->op = &ops[draw(&t->common, (int)op_count)];
    } while (!test_allowed(c->type, c->op));
}

static void draw_counts(struct test *t, struct call *c)
{
    int equal = draw_count(t, true), some = draw(&t->common, t->ranks);

    for (int r = 0; r < t->ranks; r++) {
        c->counts[r] = c->what == REDUCE_SCATTER ? draw_count(t, r == some) : equal;
    }
}

static bool scatters(const struct call *c)
{
    return c->what == REDUCE_SCATTER || c->what == REDUCE_SCATTER_BLOCK;
}

/* What this rank gives and gets, by the counts. */
static void find_parts(const struct test *t, struct call *c)
{
    c->inputs = t->ranks;
    c->got = (size_t)c->counts[t->rank];
    c->given = c->got;
    if (scatters(c)) {
        c->given = 0;
        for (int r = 0; r < t->ranks; r++) {
            c->first += r < t->rank ? (size_t)c->counts[r] : 0;
            c->given += (size_t)c->counts[r];
        }
    } else if (c->what == REDUCE) {
        c->got = t->rank == c->root ? c->got : 0;
    } else {
        c->inputs = c->what == SCAN ? t->rank + 1 : t->rank;
        c->got = c->inputs > 0 ? c->got : 0;
    }
}

static void draw_call(struct test *t, struct call *c)
{
    *c = (struct call){ .what = (enum what)draw(&t->common, WHATS), .root = draw(&t->common, t->ranks) };
    draw_type(t, c);
    draw_counts(t, c);
    c->in_place = draw(&t->common, 2) && (c->what != REDUCE || t->rank == c->root);
    find_parts(t, c);
}

/* Who gets nothing of a reduce may pass what it likes. */
static void *recv_argument(const struct test *t, const struct call *c, const struct buffer *recv)
{
    return c->what == REDUCE && t->rank != c->root && t->call % 3 == 0 ? NULL : recv->data;
}

static int call_mpi(const struct test *t, const struct call *c, void *send, void *recv)
{
    int count = c->counts[t->rank];

    switch (c->what) {
    case REDUCE:
        return MPI_Reduce(send, recv, count, c->type->type, c->op->op, c->root, t->comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(send, recv, c->counts, c->type->type, c->op->op, t->comm);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(send, recv, count, c->type->type, c->op->op, t->comm);
    case SCAN:
        return MPI_Scan(send, recv, count, c->type->type, c->op->op, t->comm);
    default:
        return MPI_Exscan(send, recv, count, c->type->type, c->op->op, t->comm);
    }
}

/* Whoever may write what it has given does so at once, in every other call: does anybody still load it? */
static void spoil(const struct test *t, const struct call *c, struct buffer *send, unsigned char *image)
{
    if (t->call % 2 == 0 && !c->in_place) {
        memset(image, 0x77, send->bytes);
        buffer_write(send, image);
    }
}

/* The result at the start of the buffer, and all that is behind it. */
static void check_result(struct test *t, const struct call *c, const struct buffer *recv, const unsigned char *image)
{
    size_t bytes = c->got * c->type->bytes, wrong = 0;
    unsigned char *got = host_alloc(t->h, recv->bytes), *expected = host_alloc(t->h, c->given * c->type->bytes + 1);

    buffer_read(recv, got);
    if (c->got > 0) {
        values_expect(t->h, c->type, c->op, t->ranks, c->inputs, t->call, c->given, expected);
        wrong = values_differ(c->type, got, expected + c->first * c->type->bytes, c->got);
    }
    harness_check(t->h, wrong == c->got, "call %llu, %s of %s by %s%s: element %zu of %zu is wrong", (unsigned long long)t->call,
                  names[c->what], c->type->name, c->op->name, c->in_place ? " in place" : "", wrong, c->got);
    harness_check(t->h, memcmp(got + bytes, image + bytes, recv->bytes - bytes) == 0,
                  "call %llu, %s%s: what is behind the result has changed", (unsigned long long)t->call, names[c->what],
                  c->in_place ? " in place" : "");
    free(got);
    free(expected);
}

static void check_call(struct test *t, const struct call *c, struct buffer *send, struct buffer *recv)
{
    unsigned char *sent = host_alloc(t->h, send->bytes), *got = host_alloc(t->h, send->bytes);
    unsigned char *image = host_alloc(t->h, recv->bytes);

    memset(sent, 0xa5, send->bytes);
    memset(image, 0x5a, recv->bytes);
    values_fill(c->type, c->op, t->rank, t->ranks, t->call, c->given, c->in_place ? image : sent);
    buffer_write(send, sent);
    buffer_write(recv, image);
    int result = call_mpi(t, c, c->in_place ? MPI_IN_PLACE : send->data, recv_argument(t, c, recv));

    spoil(t, c, send, sent);
    t->failed += result != MPI_SUCCESS;
    harness_check(t->h, result == MPI_SUCCESS || t->may_fail, "call %llu, %s: result %d", (unsigned long long)t->call,
                  names[c->what], result);
    if (result == MPI_SUCCESS) {
        check_result(t, c, recv, image);
    }
    buffer_read(send, got);
    harness_check(t->h, memcmp(got, sent, send->bytes) == 0, "call %llu, %s: the send buffer has changed",
                  (unsigned long long)t->call, names[c->what]);
    free(sent);
    free(got);
    free(image);
}

/* A buffer that holds so many bytes, and begins where an element of the type may: `keep` tells whether an old one may do. */
static void renew(struct test *t, struct buffer *buffer, const struct test_type *type, size_t elements, bool keep)
{
    enum gpufifo_memory kind = t->mixed && draw(&t->own, 2 * t->ranks) == 0 ? GPUFIFO_MEMORY_HOST : GPUFIFO_MEMORY_DEVICE;
    size_t bytes = elements * type->bytes;

    if (buffer->data) {
        if (keep && buffer->bytes >= bytes && (size_t)(buffer->data - buffer->block) % type->bytes == 0) {
            return;
        }
        buffer_destroy(buffer, "reductions");
    }
    buffer_create(t->h, buffer, kind, bytes + (size_t)draw(&t->own, 100) + 1, (size_t)draw(&t->own, 5) * type->bytes);
}

static void check_rounds(struct test *t, int rounds, bool stay)
{
    struct buffer send = { 0 }, recv = { 0 };

    for (int round = 0; round < rounds; round++) {
        struct call c;

        t->call++;
        draw_call(t, &c);
        renew(t, &send, c.type, c.given, stay || draw(&t->own, 3) > 0);
        renew(t, &recv, c.type, c.given, stay || draw(&t->own, 3) > 0);
        check_call(t, &c, &send, &recv);
    }
    if (send.data) {
        buffer_destroy(&send, "reductions");
        buffer_destroy(&recv, "reductions");
    }
}

/* Of each kind, in place and not. */
static void check_long(struct test *t)
{
    enum { ELEMENTS = 1500000 };
    struct buffer send = { 0 }, recv = { 0 };

    for (int i = 0; i < 2 * WHATS; i++) {
        struct call c = { .what = (enum what)(i / 2), .root = i % t->ranks, .type = test_type_find("MPI_INT"),
                          .op = test_op_find("MPI_SUM") };

        c.in_place = i % 2 && (c.what != REDUCE || t->rank == c.root);
        for (int r = 0; r < t->ranks; r++) {
            c.counts[r] = scatters(&c) ? ELEMENTS / t->ranks : ELEMENTS;
        }
        t->call++;
        find_parts(t, &c);
        renew(t, &send, c.type, c.given, true);
        renew(t, &recv, c.type, c.given, true);
        check_call(t, &c, &send, &recv);
    }
    buffer_destroy(&send, "long");
    buffer_destroy(&recv, "long");
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
    t->common = common;            /* the groups have drawn unlike numbers of them */
}

/* No rank hangs; who is told of no error has the right data; and what follows goes well. */
static void check_failing(struct test *t, int rounds)
{
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
    t->may_fail = true;
    check_rounds(t, rounds, false);
    t->may_fail = false;
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(MPI_IN_PLACE, &t->failed, 1, MPI_INT, MPI_SUM, t->comm);
    harness_check(t->h, t->failed > 0, "no call has failed at any rank");
}

/* Some rank expects more than it is sent. */
static void check_disagreement(const struct test *t)
{
    struct call c = { .what = t->what, .type = test_type_find("MPI_FLOAT"), .op = test_op_find("MPI_SUM") };
    bool more = (t->what == SCAN || t->what == EXSCAN) != (t->rank == 0);
    struct buffer send, recv;

    buffer_create(t->h, &send, GPUFIFO_MEMORY_DEVICE, 4096, 0);
    buffer_create(t->h, &recv, GPUFIFO_MEMORY_DEVICE, 4096, 0);
    for (int r = 0; r < t->ranks; r++) {
        c.counts[r] = more ? 11 : 10;
    }
    call_mpi(t, &c, send.data, recv.data);
    buffer_destroy(&send, "disagreement");
    buffer_destroy(&recv, "disagreement");
}

/* Sums that depend on the order in which they are made. */
static void check_repeated(struct test *t)
{
    enum { ELEMENTS = 5000, TIMES = 4 };
    float numbers[ELEMENTS], got[TIMES][ELEMENTS];
    const size_t bytes = sizeof numbers;
    struct buffer send, recv;

    buffer_create(t->h, &send, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    buffer_create(t->h, &recv, GPUFIFO_MEMORY_DEVICE, bytes, 0);
    for (int i = 0; i < ELEMENTS; i++) {
        numbers[i] = (float)draw(&t->own, 1 << 24) / (float)(1 + draw(&t->own, 1000));
    }
    buffer_write(&send, numbers);
    for (int what = 0; what < WHATS; what++) {
        struct call c = { .what = (enum what)what, .type = test_type_find("MPI_FLOAT"), .op = test_op_find("MPI_SUM") };

        for (int r = 0; r < t->ranks; r++) {
            c.counts[r] = scatters(&c) ? ELEMENTS / t->ranks : ELEMENTS;
        }
        for (int i = 0; i < TIMES; i++) {
            memset(got[i], 0, bytes);
            buffer_write(&recv, got[i]);
            call_mpi(t, &c, send.data, recv.data);
            buffer_read(&recv, got[i]);
            harness_check(t->h, memcmp(got[i], got[0], bytes) == 0, "%s: other bits the %d. time", names[what], i + 1);
        }
    }
    buffer_destroy(&send, "repeated");
    buffer_destroy(&recv, "repeated");
}

static void run_part(void *ctx, const char *part, const struct parts *parts)
{
    struct test *t = ctx;
    int rounds = parts->rounds;

    t->mixed = strcmp(part, "mixed") == 0;
    if (strcmp(part, "random") == 0) {
        check_rounds(t, rounds, true);
    } else if (strcmp(part, "reuse") == 0 || t->mixed) {
        check_rounds(t, rounds, false);
    } else if (strcmp(part, "communicators") == 0) {
        check_communicators(t, rounds);
    } else if (strcmp(part, "long") == 0) {
        check_long(t);
    } else if (strcmp(part, "repeated") == 0) {
        check_repeated(t);
    } else if (strcmp(part, "disagree") == 0) {
        check_disagreement(t);
    } else if (strcmp(part, "failing") == 0) {
        check_failing(t, rounds);
    } else {
        harness_check(t->h, false, "there is no part \"%s\": random, reuse, mixed, communicators, long, repeated, disagree, "
                      "failing", part);
    }
}

static bool set(void *ctx, const char *name, uint64_t value)
{
    struct test *t = ctx;

    if (strcmp(name, "what") != 0 || value >= WHATS) {
        return false;
    }
    t->what = (enum what)value;
    return true;
}

int main(int argc, char **argv)
{
    struct harness h;
    struct test t = { .h = &h, .most = 3000 };
    struct parts parts = { .ctx = &t, .run = run_part, .set = set, .rounds = 150,
                           .common = &t.common, .own = &t.own, .most = &t.most };

    harness_start(&h, argc, argv, MPI_THREAD_SINGLE);
    harness_need(&h, h.ranks <= PEERS ? MPI_SUCCESS : MPI_ERR_ARG, "at most 16 ranks");
    enter_comm(&t, MPI_COMM_WORLD);
    parts_run(&h, argc, argv, &parts);
    return harness_finish(&h);
}
