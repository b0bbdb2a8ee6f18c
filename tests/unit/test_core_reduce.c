/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions over mapped buffers, of forked ranks on the emulated device: each makes elements of its own choice, of as many
 * contributions as it likes, beside them or in their place; compared to the bit with a scalar reference in the order of the
 * ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/reduction.h"
#include "tests/support/core_comm.h"
#include "tests/unit/scalar.h"

enum { SECONDS = 120, MOST = 3000, ELEMENT = 32, BYTES = (MOST + 16) * ELEMENT, CANARY = 0x5a };

/* Device memory with its image on the host. */
struct memory {
    struct gf_mapped_buffer buffer;
    unsigned char image[BYTES];
};

/* One rank's communicator and memory. */
struct bench {
    struct gftest_comm c;
    struct memory send, recv, aside;
    uint64_t common, own;          /* random numbers: of all ranks, and of this one */
};

/* One call: what all ranks give, and what this one makes. */
struct what {
    enum gf_type type;
    enum gf_op op;
    bool rounds;                   /* floating-point numbers for which the order matters */
    size_t given, skip;            /* elements of a contribution, and before it */
    size_t first, count, at;       /* made, and where in the buffer they go */
    int inputs;
    bool in_place;
    uint64_t seed;
};

static int allocate(struct gftest_rank *rank, struct bench *b, struct memory *m)
{
    void *address = NULL;

    GFTEST_CHECK(rank, gf_device_alloc(b->c.device, BYTES, &address, NULL) == GF_OK);
    m->buffer.address = address;
    GFTEST_CHECK(rank, gf_driver_pointer(b->c.device->driver, address, &m->buffer.where) == GF_OK);
    return 0;
}

static int bench_open(struct gftest_rank *rank, struct bench *b)
{
    struct gf_config config = gftest_config();
    struct gf_reason why = { "" };
    uint64_t seed = *(const uint64_t *)rank->argument;

    config.mapped = GF_MAPPED_KERNEL;
    b->common = seed;
    b->own = seed * 1000 + (uint64_t)rank->rank;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &b->c, &why) == GF_OK, "%s", why.text);
    return allocate(rank, b, &b->send) || allocate(rank, b, &b->recv) || allocate(rank, b, &b->aside);
}

static void bench_close(struct gftest_rank *rank, struct bench *b)
{
    gftest_barrier(rank);
    gf_device_free(b->c.device, b->send.buffer.address);
    gf_device_free(b->c.device, b->recv.buffer.address);
    gf_device_free(b->c.device, b->aside.buffer.address);
    gftest_comm_close(&b->c);
    free(b);
}

static size_t draw(uint64_t *state, size_t limit)
{
    return (size_t)(scalar_random(state) % limit);
}

/* The first element of a contribution may lie anywhere. */
static void draw_what(struct gftest_rank *rank, struct bench *b, struct what *w)
{
    *w = (struct what){ .rounds = draw(&b->common, 4) == 0, .given = 1 + draw(&b->common, draw(&b->common, 2) ? 40 : MOST),
                        .skip = draw(&b->own, 8), .seed = scalar_random(&b->common) };
    do {
        w->type = w->rounds ? GF_FLOAT : (enum gf_type)draw(&b->common, GF_TYPE_COUNT);
        w->op = w->rounds ? GF_SUM : (enum gf_op)draw(&b->common, GF_OP_COUNT);
    } while (!gf_op_allowed(w->type, w->op));
    w->first = draw(&b->own, w->given);
    w->count = draw(&b->own, 5) ? 1 + draw(&b->own, w->given - w->first) : 0;
    w->inputs = w->count ? 1 + (int)draw(&b->own, (size_t)rank->ranks) : 0;
    w->in_place = draw(&b->own, 2);
    w->at = w->skip + draw(&b->own, w->given - w->count + 1);
}

static void fill(const struct what *w, int rank, unsigned char *elements)
{
    uint64_t random = w->seed + (uint64_t)rank * 64;

    memset(elements, 0, w->given * gf_type_size(w->type));
    if (!w->rounds) {
        scalar_fill(w->type, w->op, SCALAR_EXACT, elements, w->given, &random);
        return;
    }
    for (size_t i = 0; i < w->given; i++) {
        float value = 1.0f / (float)(1 + scalar_random(&random) % 1000);

        memcpy(elements + i * sizeof value, &value, sizeof value);
    }
}

/* Left to right. */
static void expect(const struct what *w, unsigned char *result)
{
    static unsigned char next[BYTES];
    size_t element = gf_type_size(w->type);

    fill(w, 0, result);
    for (int r = 1; r < w->inputs; r++) {
        fill(w, r, next);
        for (size_t i = 0; i < w->given; i++) {
            scalar_reduce(w->type, w->op, result + i * element, result + i * element, next + i * element);
        }
    }
}

static void copy(struct bench *b, void *to, const void *from)
{
    gf_device_copy(b->c.device, b->c.stream, to, from, BYTES);
    gf_device_stream_sync(b->c.device, b->c.stream);
}

static void load(struct bench *b, struct memory *m)
{
    copy(b, m->buffer.address, m->image);
}

/* The elements that were made, and all else as it was. */
static int compare(struct gftest_rank *rank, struct bench *b, const struct what *w, const struct memory *m)
{
    static unsigned char got[BYTES], expected[BYTES];
    size_t element = gf_type_size(w->type), begin = w->at * element, end = begin + w->count * element, wrong = 0;

    copy(b, got, m->buffer.address);
    if (w->count > 0) {
        expect(w, expected);
    }
    while (wrong < w->count
           && scalar_equal(w->type, got + begin + wrong * element, expected + (w->first + wrong) * element, false)) {
        wrong++;
    }
    GFTEST_CHECK(rank, wrong == w->count, "%s of %s over %d ranks%s: element %zu of %zu is wrong", gf_op_name(w->op),
                 gf_type_name(w->type), w->inputs, w->in_place ? ", in place" : "", wrong, w->count);
    GFTEST_CHECK(rank, memcmp(got, m->image, begin) == 0 && memcmp(got + end, m->image + end, BYTES - end) == 0,
                 "%s of %s: what is beside the result has changed", gf_op_name(w->op), gf_type_name(w->type));
    return 0;
}

static int check_call(struct gftest_rank *rank, struct bench *b, const struct what *w)
{
    size_t element = gf_type_size(w->type);
    struct memory *to = w->in_place ? &b->send : &b->recv;
    struct gf_reason why = { "" };
    struct gf_reduce reduce = {
        .name = "test", .what = { 7, w->given }, .type = w->type, .op = w->op, .send = b->send.buffer, .recv = to->buffer,
        .first = w->first, .count = w->count, .inputs = w->inputs, .aside = w->in_place ? b->aside.buffer.address : NULL,
    };

    memset(b->send.image, CANARY, BYTES);
    memset(b->recv.image, CANARY, BYTES);
    fill(w, rank->rank, b->send.image + w->skip * element);
    load(b, &b->send);
    load(b, &b->recv);
    reduce.send.address += w->skip * element;
    reduce.send.bytes = w->given * element;
    reduce.recv.address += w->at * element;
    reduce.recv.bytes = w->count * element;
    gf_status status = gf_comm_reduce(b->c.comm, &reduce, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s: %s", gf_status_string(status), why.text);
    GFTEST_CHECK(rank, gf_comm_last_reduce(b->c.comm)->algorithm == (rank->ranks == 1 ? GF_PLAN_LOCAL : GF_PLAN_REDUCE_MAPPED));
    return compare(rank, b, w, to);
}

static int random_body(struct gftest_rank *rank)
{
    struct bench *b = calloc(1, sizeof *b);

    GFTEST_CHECK(rank, b && bench_open(rank, b) == 0);
    for (int call = 0; call < 100; call++) {
        struct what w;

        draw_what(rank, b, &w);
        if (check_call(rank, b, &w) != 0) {
            return 1;
        }
    }
    bench_close(rank, b);
    return 0;
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        gftest_expect((int)seed, random_body, &seed, SECONDS);
    }
}

/* Where ranks want another reduction than the others, all notice. */
static int unlike_body(struct gftest_rank *rank)
{
    struct bench *b = calloc(1, sizeof *b);
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, b && bench_open(rank, b) == 0);
    struct gf_reduce reduce = {
        .name = "test", .what = { (uint64_t)rank->rank, 0 }, .type = GF_INT32, .op = GF_SUM, .send = b->send.buffer,
    };

    reduce.send.bytes = 4;
    GFTEST_CHECK(rank, gf_comm_reduce(b->c.comm, &reduce, &why) == GF_ERR_PEER);
    GFTEST_CHECK(rank, strstr(why.text, "another count"), "%s", why.text);
    bench_close(rank, b);
    return 0;
}

static void test_unlike_calls(void **state)
{
    uint64_t seed = 1;

    (void)state;
    gftest_expect(2, unlike_body, &seed, SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_unlike_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
