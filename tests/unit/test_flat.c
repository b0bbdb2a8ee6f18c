/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flat datatypes: the blocks that a builder was given are those of its description, whatever form that takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "core/flat.h"
#include "core/pack_plan.h"

enum { MOST_BLOCKS = 4000, ROUNDS = 3000 };

static uint64_t seed = 1, state;

static uint64_t next_random(uint64_t below)
{
    return gf_random_next(&state) % below;
}

/* What was added, with blocks that touch joined. */
struct expected {
    struct gf_flat_block blocks[MOST_BLOCKS];
    uint64_t count, bytes;
};

static void add(struct gf_flat_builder *builder, struct expected *expected, int64_t offset, uint64_t bytes)
{
    struct gf_flat_block *last = &expected->blocks[expected->count];

    assert_int_equal(gf_flat_add(builder, offset, bytes, NULL), GF_OK);
    expected->bytes += bytes;
    if (expected->count > 0 && last[-1].offset + (int64_t)last[-1].bytes == offset) {
        last[-1].bytes += bytes;
        return;
    }
    assert_true(expected->count < MOST_BLOCKS);
    *last = (struct gf_flat_block){offset, bytes};
    expected->count++;
}

static void check(struct gf_flat_builder *builder, const struct expected *expected, struct gf_flat *flat)
{
    assert_int_equal(gf_flat_finish(builder, flat, NULL), GF_OK);
    assert_int_equal(flat->blocks, expected->count);
    assert_int_equal(flat->bytes, expected->bytes);
    for (uint64_t i = 0; i < expected->count; i++) {
        struct gf_flat_block block = gf_flat_block(flat, i);

        assert_int_equal(block.offset, expected->blocks[i].offset);
        assert_int_equal(block.bytes, expected->blocks[i].bytes);
    }
}

/* The hints lead to the block that has each byte. */
static void check_hints(const struct gf_flat *flat)
{
    const struct gf_flat_list *list = &flat->list;

    for (uint64_t block = 0; list->starts && block < flat->blocks; block++) {
        uint64_t first = list->starts[block], last = first + gf_flat_block(flat, block).bytes - 1;

        assert_true(list->hints[first >> list->hint_shift] <= block);
        assert_true(list->hints[(first >> list->hint_shift) + 1] >= block);
        assert_true(list->hints[last >> list->hint_shift] <= block);
        assert_true(list->hints[(last >> list->hint_shift) + 1] >= block);
    }
}

/* Blocks of `bytes` in the dimensions, outermost first. */
static void add_dims(struct gf_flat_builder *builder, struct expected *expected, int64_t offset, uint64_t bytes, int dims,
                     const struct gf_flat_dim *dim)
{
    if (dims == 0) {
        add(builder, expected, offset, bytes);
        return;
    }
    for (uint64_t i = 0; i < dim->count; i++) {
        add_dims(builder, expected, offset + (int64_t)i * dim->stride, bytes, dims - 1, dim + 1);
    }
}

static void test_forms(void **test_state)
{
    static const struct {
        int dims;
        struct gf_flat_dim dim[5];
        uint32_t forms, bytes;               /* dimensions that are found; 9: a list */
    } cases[] = {
        {0, {{0}}, 0, 8},
        {1, {{100, 64}}, 1, 8},
        {1, {{100, 8}}, 0, 800},             /* touching: one block */
        {1, {{100, -64}}, 1, 8},
        {1, {{100, 0}}, 1, 8},               /* the same place again and again, as a send may have it */
        {2, {{5, 1000}, {10, 64}}, 2, 8},
        {2, {{5, 640}, {10, 64}}, 1, 8},     /* one goes on where the other ends */
        {2, {{10, 64}, {5, 1000}}, 2, 8},
        {3, {{3, -9000}, {5, 1000}, {10, 64}}, 3, 8},
        {4, {{2, 90000}, {3, 9000}, {5, 1000}, {10, 64}}, 9, 8},
        {4, {{2, 27000}, {3, 9000}, {5, 1000}, {10, 64}}, 3, 8},
        {2, {{5, 1000}, {10, 8}}, 1, 80},
    };
    static struct expected expected;

    (void)test_state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_flat_builder builder;
        struct gf_flat flat;

        memset(&expected, 0, sizeof expected);
        gf_flat_begin(&builder, 4096);
        add_dims(&builder, &expected, -24, 8, cases[i].dims, cases[i].dim);
        check(&builder, &expected, &flat);
        assert_int_equal(flat.list.offsets ? 9 : flat.dims, cases[i].forms);
        assert_int_equal(flat.block, cases[i].bytes);
        assert_int_equal(flat.extent, 4096);
        gf_flat_free(&flat);
    }
}

/* Regular at first, and then anything: what was dimensions becomes a list, at every possible place. */
static void test_random(void **test_state)
{
    static struct expected expected;
    uint64_t forms[3] = {0};

    (void)test_state;
    for (int round = 0; round < ROUNDS; round++) {
        struct gf_flat_dim dim[3];
        int dims = (int)next_random(4), odd = (int)next_random(3) ? 0 : 1 + (int)next_random(20);
        uint64_t bytes = 1 + next_random(12), others = next_random(2);
        struct gf_flat_builder builder;
        struct gf_flat flat;

        memset(&expected, 0, sizeof expected);
        gf_flat_begin(&builder, 0);
        for (int d = 0; d < dims; d++) {
            dim[d] = (struct gf_flat_dim){1 + next_random(6), (int64_t)next_random(200) - 100};
        }
        add_dims(&builder, &expected, (int64_t)next_random(50) - 25, bytes, dims, dim);
        for (int i = 0; i < odd; i++) {
            add(&builder, &expected, (int64_t)next_random(5000) - 2500,
                others ? 1 + next_random(next_random(3) ? 4 : 200) : bytes);
        }
        check(&builder, &expected, &flat);
        check_hints(&flat);
        forms[!flat.list.offsets ? 0 : flat.list.starts ? 2 : 1]++;
        gf_flat_free(&flat);
    }
    assert_true(forms[0] > 100 && forms[1] > 20 && forms[2] > 100);
}

static void test_nothing(void **test_state)
{
    struct gf_flat_builder builder;
    struct gf_flat flat;

    (void)test_state;
    gf_flat_begin(&builder, 16);
    assert_int_equal(gf_flat_finish(&builder, &flat, NULL), GF_OK);
    assert_int_equal(flat.bytes + flat.blocks, 0);
    gf_flat_free(&flat);
}

/* Quotients without a division, at both ends of what is promised and at multiples. */
static void test_divisor(void **test_state)
{
    (void)test_state;
    for (int round = 0; round < 100000; round++) {
        uint64_t value = 1 + next_random((uint64_t)1 << (1 + next_random(34)));
        struct gf_divisor divisor = gf_divisor_of(value);
        uint64_t multiple = value * (1 + next_random(((uint64_t)1 << 31) / (value < 1u << 31 ? value : 1u << 31)));
        uint64_t samples[] = {0, 1, value - 1, value, multiple - 1, multiple, multiple + 1, ((uint64_t)1 << 31) - 1,
                              next_random((uint64_t)1 << 31)};

        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
            if (samples[i] < (uint64_t)1 << 31) {
                assert_int_equal(samples[i] * divisor.multiplier >> divisor.shift, samples[i] / value);
            }
        }
    }
}

/* The widest word of which everything is a multiple, and dimensions joined. */
static void test_parts(void **test_state)
{
    static const struct {
        uint64_t count, cut, to;                 /* elements, bytes fewer than all, where to */
        uint32_t word, dims;
    } cases[] = {
        {1, 0, 0, 8, 1}, {1, 0, 4, 4, 1}, {1, 0, 1, 1, 1}, {7, 0, 16, 8, 1}, {7, 2, 16, 2, 1},
    };
    struct gf_flat_builder builder;
    struct gf_flat flat;

    (void)test_state;
    gf_flat_begin(&builder, 640);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(gf_flat_add(&builder, i * 64, 8, NULL), GF_OK);
    }
    assert_int_equal(gf_flat_finish(&builder, &flat, NULL), GF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_pack_copy copy = {.to = (char *)(4096 + cases[i].to), .from = (char *)65536, .to_packed = true,
                                    .count = cases[i].count, .bytes = cases[i].count * 80 - cases[i].cut};
        struct gf_pack_part part = gf_pack_plan_part(&flat, &copy);

        assert_int_equal(part.word, cases[i].word);
        assert_int_equal(part.dims, cases[i].dims);
        assert_int_equal(part.words * part.word, copy.bytes);
        assert_false(gf_pack_part_is_run(&part));
        copy.bytes = 8;
        part = gf_pack_plan_part(&flat, &copy);
        assert_true(gf_pack_part_is_run(&part));
    }
    assert_int_equal(gf_pack_plan_blocks(1, 132), 1);
    assert_int_equal(gf_pack_plan_blocks(100000, 132), 132);
}

static int setup(void **test_state)
{
    const char *text = getenv("GPUFIFO_TEST_SEED");

    (void)test_state;
    seed = text ? strtoull(text, NULL, 0) : seed;
    state = seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms), cmocka_unit_test(test_random), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_divisor), cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
