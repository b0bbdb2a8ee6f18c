/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every element type with every operation that MPI allows on it, by the kernel that reduces locally, against the scalar
 * reference:
 * equal to the bit for limits, infinities and NaN, odd counts, any alignment, in place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/emulated_table.h"
#include "tests/unit/scalar.h"

enum { MOST = 150, MARGIN = 64, BUFFER = MOST * 32 + 2 * MARGIN, INPUTS = 4, GUARD = 0xa5 };

static uint64_t seed;

/* One case: inputs at some offset, the result in a buffer of its own or over one of the inputs. */
struct example {
    enum gf_type type;
    enum gf_op op;
    size_t count;
    uint32_t inputs, blocks;
    size_t offset[INPUTS], out_offset;
    int in_place;                 /* which input is overwritten, -1: none */
};

static struct memory {
    _Alignas(64) unsigned char input[INPUTS][BUFFER], before[INPUTS][BUFFER], out[BUFFER];
} memory;

static void launch(const struct gf_local_work *work, uint32_t blocks)
{
    for (uint32_t b = 0; b < blocks; b++) {
        struct gf_block *block = gf_block_create(1, false, 1);
        assert_non_null(block);
        gf_block_run(block, GF_KERNEL_REDUCE_LOCAL, b, blocks, 0, work);
        gf_block_destroy(block);
    }
}

static void check_result(const struct example *e, const unsigned char *out, size_t at)
{
    size_t size = gf_type_size(e->type);
    for (size_t i = 0; i < e->count; i++) {
        unsigned char expected[32];
        memcpy(expected, memory.before[0] + MARGIN + e->offset[0] + i * size, size);
        for (uint32_t k = 1; k < e->inputs; k++)
            scalar_reduce(e->type, e->op, expected, expected, memory.before[k] + MARGIN + e->offset[k] + i * size);
        if (!scalar_equal(e->type, out + at + i * size, expected, true))
            fail_msg("%s of %s: element %zu of %zu is wrong; %u inputs, offsets %zu %zu, out %zu, in place %d", gf_op_name(e->op),
                     gf_type_name(e->type), i, e->count, e->inputs, e->offset[0], e->offset[1], e->out_offset, e->in_place);
    }
    for (size_t i = 0; i < BUFFER; i++)
        if ((i < at || i >= at + e->count * size) && out[i] != GUARD)
            fail_msg("%s of %s: byte %zd beside the result was written", gf_op_name(e->op), gf_type_name(e->type),
                     (ssize_t)(i - at));
}

static void check_example(const struct example *e, uint64_t *random)
{
    uint32_t abort_word = 0, error = 0, blocks_done = 0;
    uint64_t done = 0;
    struct gf_local_work work = {
        .task = { .ranks = 1, .abort = &abort_word, .blocks_done = &blocks_done, .done = &done, .error = &error, .ticket = 9 },
        .count = e->count, .type = e->type, .op = e->op, .input_count = e->inputs,
    };
    memset(memory.out, GUARD, sizeof memory.out);
    for (uint32_t k = 0; k < e->inputs; k++) {
        memset(memory.input[k], GUARD, sizeof memory.input[k]);
        scalar_fill(e->type, e->op, SCALAR_EXTREME, memory.input[k] + MARGIN + e->offset[k], e->count, random);
        work.inputs[k] = memory.input[k] + MARGIN + e->offset[k];
    }
    memcpy(memory.before, memory.input, sizeof memory.before);
    unsigned char *out = e->in_place < 0 ? memory.out : memory.input[e->in_place];
    size_t at = MARGIN + (e->in_place < 0 ? e->out_offset : e->offset[e->in_place]);
    work.recv = out + at;
    launch(&work, e->blocks);

    assert_int_equal(done, 9);
    assert_int_equal(blocks_done, 0);
    check_result(e, out, at);
}

static struct example next_example(enum gf_type type, enum gf_op op, size_t count, uint64_t *random)
{
    struct example e = { .type = type, .op = op, .count = count };
    size_t size = gf_type_size(type), step = size < 8 ? size : 8;
    uint64_t r = scalar_random(random);
    if (r % 8 == 0)
        step = 1;                                     /* not even aligned to the type */
    bool alike = r / 8 % 2 == 0;
    e.inputs = 1 + r / 16 % INPUTS;
    e.blocks = 1 + r / 64 % 3;
    e.in_place = (int)(r / 256 % (2 * e.inputs)) - (int)e.inputs;
    e.in_place = e.in_place < 0 ? -1 : e.in_place;
    e.out_offset = scalar_random(random) % (32 / step) * step;
    for (uint32_t k = 0; k < INPUTS; k++)
        e.offset[k] = alike ? e.out_offset : scalar_random(random) % (32 / step) * step;
    return e;
}

static void every_type_with_every_operation(void **state)
{
    (void)state;
    uint64_t random = seed;
    int pairs = 0;
    for (int type = 0; type < GF_TYPE_COUNT; type++)
        for (int op = 0; op < GF_OP_COUNT; op++) {
            if (!gf_op_allowed(type, op))
                continue;
            pairs++;
            for (size_t count = 0; count <= 70; count++) {
                struct example e = next_example(type, op, count, &random);
                check_example(&e, &random);
            }
            struct example longer = next_example(type, op, MOST, &random);
            check_example(&longer, &random);
        }
    /* 8 integers × 12, 3 reals × 6, 3 complex × 4, 5 logicals × 5, byte × 5, 8 pairs × 4 */
    assert_int_equal(pairs, 96 + 18 + 12 + 25 + 5 + 32);
}

/* Two inputs that share no bit of their alignment with the result, and all that do. */
static void every_alignment(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (size_t in = 0; in < 17; in++)
        for (size_t out = 0; out < 17; out++) {
            struct example e = { GF_INT32, GF_SUM, 33, 2, 1, { in, 16 - in }, out, -1 };
            check_example(&e, &random);
            struct example agree = { GF_DOUBLE, GF_SUM, 33, 2, 2, { out, out }, out, (int)(in % 3) - 1 };
            check_example(&agree, &random);
        }
}

static void integers_wrap(void **state)
{
    (void)state;
    int32_t a = INT32_MAX, b = 1, r = 0;
    uint32_t abort_word = 0, error = 0;
    uint64_t done = 0;
    struct gf_local_work work = {
        .task = { .ranks = 1, .abort = &abort_word, .done = &done, .error = &error, .ticket = 1 },
        .inputs = { &a, &b }, .recv = &r, .count = 1, .type = GF_INT32, .op = GF_SUM, .input_count = 2,
    };
    launch(&work, 1);
    assert_int_equal(r, INT32_MIN);
}

/* The reference itself on cases whose result the standard tells. */
static void the_reference_is_right(void **state)
{
    (void)state;
    struct { int v, i; } a = { 5, 9 }, b = { 5, 3 }, r;
    scalar_reduce(GF_INT_INT, GF_MAXLOC, &r, &a, &b);
    assert_int_equal(r.v, 5);
    assert_int_equal(r.i, 3);
    b.v = 4;
    scalar_reduce(GF_INT_INT, GF_MINLOC, &r, &a, &b);
    assert_int_equal(r.v, 4);
    assert_int_equal(r.i, 3);
    uint8_t x = 2, y = 4, z;
    scalar_reduce(GF_LOGICAL8, GF_LAND, &z, &x, &y);
    assert_int_equal(z, 1);
    scalar_reduce(GF_UINT8, GF_BAND, &z, &x, &y);
    assert_int_equal(z, 0);
    float c[2] = { 1, 2 }, d[2] = { 3, -1 }, e[2];
    scalar_reduce(GF_FLOAT_COMPLEX, GF_PROD, e, c, d);
    assert_true(e[0] == 5 && e[1] == 5);
}

int main(void)
{
    const char *given = getenv("GPUFIFO_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : 20260501;
    printf("GPUFIFO_TEST_SEED=%llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_right),
        cmocka_unit_test(every_type_with_every_operation),
        cmocka_unit_test(every_alignment),
        cmocka_unit_test(integers_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
