/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choosing by a table: that the one built in chooses as its rules are known, that any other chooses what it says is the fastest.
 */
#include "core/tuning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/tuner.h"
#include "tests/unit/plan_input.h"

enum { KIB = 1024, ROWS = 64 };

/* What is chosen with nothing set: two-shot from so many bytes on, below them and where buffers do not allow it the ring above
 * one_shot_bytes, else what the model expects to be faster. */
static enum gf_algorithm known_choice(const struct gf_config *config, const struct gf_plan_input *input)
{
    size_t bytes = input->count * gf_type_size(input->type);
    size_t two_shot = (48 + (input->ranks < 8 ? (size_t)(8 - input->ranks) * 8 : 0)) * KIB;
    int one_shot_blocks = gf_tuner_one_shot_blocks(bytes, config->ll_slot_bytes, input->blocks);
    int ring_blocks = gf_tuner_ring_blocks(bytes, input->ranks, input->blocks);

    if (bytes >= two_shot && !(input->unavailable & 1u << GF_PLAN_TWO_SHOT)) {
        return GF_PLAN_TWO_SHOT;
    }
    return bytes <= config->one_shot_bytes && gf_tuner_one_shot_us(bytes, input->ranks, one_shot_blocks)
        <= gf_tuner_ring_us(bytes, input->ranks, ring_blocks) ? GF_PLAN_ONE_SHOT : GF_PLAN_RING;
}

static void check_known(const struct gf_config *config, int ranks, int blocks, size_t bytes)
{
    struct gf_plan_input input = default_input(bytes);

    input.type = GF_INT8;
    input.ranks = ranks;
    input.blocks = blocks;
    for (int kind = 0; kind < 8; kind++) {
        input.shared = kind & 1;
        input.agents = kind & 4;
        input.unavailable = kind & 2 ? 1u << GF_PLAN_TWO_SHOT : 0;
        struct gf_plan plan = plan_of(config, &input);

        if (plan.algorithm != known_choice(config, &input)) {
            fail_msg("%d ranks, %d blocks, %zu bytes, kind %d: %s", ranks, blocks, bytes, kind, plan.reason);
        }
    }
}

/* For all sizes, to the byte where choices change. */
static void test_the_table_built_in_chooses_as_is_known(void **state)
{
    static const int blocks[] = { 1, 2, 3, 4, 8, 12, 15, 16, 17, 33, 64 };
    const struct gf_config usual = default_config(), short_ones = { .one_shot_bytes = 4 * KIB, .ll_slot_bytes = 64 * KIB };

    (void)state;
    for (int ranks = 2; ranks <= 64; ranks++) {
        for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
            for (size_t bytes = 2; bytes <= (size_t)1 << 30; bytes += bytes < 512 * KIB && bytes >= 8 * KIB ? 4 * KIB : bytes) {
                for (size_t at = bytes - 1; at <= bytes + 1; at++) {
                    check_known(&usual, ranks, blocks[b], at);
                    check_known(&short_ones, ranks, blocks[b], at);
                }
            }
        }
    }
}

#define ROW(topology, ranks, algorithm, bytes, us) { topology, ranks, algorithm, bytes, us, GF_TUNED_ALLREDUCE }
static const struct gf_tuning_row few[] = {
    ROW(GF_TOPOLOGY_SHARED, 2, GF_PLAN_ONE_SHOT, 1000, 10), ROW(GF_TOPOLOGY_SHARED, 2, GF_PLAN_ONE_SHOT, 3000, 30),
    ROW(GF_TOPOLOGY_SHARED, 2, GF_PLAN_RING, 1000, 20), ROW(GF_TOPOLOGY_SHARED, 2, GF_PLAN_RING, 3000, 20),
    ROW(GF_TOPOLOGY_SHARED, 4, GF_PLAN_ONE_SHOT, 1000, 40),
    ROW(GF_TOPOLOGY_TURNS, 2, GF_PLAN_HOST, 1000, 10), ROW(GF_TOPOLOGY_TURNS, 2, GF_PLAN_HOST, 3000, 30),
    ROW(GF_TOPOLOGY_TURNS, 2, GF_PLAN_ONE_SHOT_MAPPED, 1000, 20),
    ROW(GF_TOPOLOGY_TURNS, 2, GF_PLAN_ONE_SHOT_MAPPED, 3000, 20),
};
static const struct gf_tuning few_rows = { few, sizeof few / sizeof few[0], 1, 1 };

static double us(enum gf_topology topology, int ranks, size_t bytes)
{
    return gf_tuning_figure(&few_rows, topology, ranks, GF_PLAN_ONE_SHOT, bytes).us;
}

static void test_figures_between_rows(void **state)
{
    (void)state;
    assert_true(us(GF_TOPOLOGY_SHARED, 2, 1000) == 10 && us(GF_TOPOLOGY_SHARED, 2, 3000) == 30);
    assert_true(us(GF_TOPOLOGY_SHARED, 2, 1500) == 15);
    assert_true(us(GF_TOPOLOGY_SHARED, 2, 1) == 10);           /* shorter than all */
    assert_true(us(GF_TOPOLOGY_SHARED, 2, 6000) == 60);        /* longer */
    assert_true(us(GF_TOPOLOGY_SHARED, 3, 1000) == 25);
    assert_true(us(GF_TOPOLOGY_SHARED, 9, 2000) == 80);
    assert_true(us(GF_TOPOLOGY_DEVICES, 2, 1500) == 15);
    assert_true(us(GF_TOPOLOGY_TURNS, 2, 1500) < 0);
    assert_true(gf_tuning_figure(&few_rows, GF_TOPOLOGY_SHARED, 3, GF_PLAN_ONE_SHOT, 1).measured);
    assert_false(gf_tuning_figure(&few_rows, GF_TOPOLOGY_SHARED, 5, GF_PLAN_ONE_SHOT, 1).measured);
    assert_false(gf_tuning_figure(&few_rows, GF_TOPOLOGY_SHARED, 3, GF_PLAN_RING, 1).measured);
    assert_true(gf_tuning_tells(&few_rows, GF_TOPOLOGY_TURNS, GF_PLAN_HOST));
    assert_false(gf_tuning_tells(&few_rows, GF_TOPOLOGY_TURNS, GF_PLAN_RING));
}

/* Settings win over what it says. */
static void test_a_table_chooses(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(1000);

    (void)state;
    config.tuning = &few_rows;
    input.type = GF_INT8;
    input.ranks = 2;
    struct gf_plan plan = plan_of(&config, &input);

    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
    assert_string_equal(plan.reason, "one-shot: 1000 bytes on 2 ranks take by the table 10.0 us, the ring 20.0 us");
    input.count = 2001;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_RING);
    assert_string_equal(plan.reason, "ring: 2001 bytes on 2 ranks take by the table 20.0 us, one-shot 20.0 us");
    config.channels = 8;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT);
    config.channels = 0;
    input.count = 1000;
    config.one_shot_bytes = 999;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_RING);
    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT);
    config.algorithm = GF_ALGORITHM_AUTO;
    input.kernels_may_wait = false;
    input.count = 1999;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    input.count = 2500;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT_MAPPED);
    assert_string_equal(plan.reason,
                        "one-shot over mapped buffers: 2500 bytes on 2 ranks take by the table 20.0 us, host 25.0 us");
}

/* A mapping is not worth it where the agent may come sooner. */
static void test_the_agent_comes_before_a_mapping(void **state)
{
    static const struct gf_tuning_row rows[] = {
        ROW(GF_TOPOLOGY_SHARED, 8, GF_PLAN_ONE_SHOT, 8, 23), ROW(GF_TOPOLOGY_SHARED, 8, GF_PLAN_RING, 8, 60),
        ROW(GF_TOPOLOGY_SHARED, 8, GF_PLAN_TWO_SHOT, 8, 22), ROW(GF_TOPOLOGY_SHARED, 8, GF_PLAN_TWO_SHOT, 1 << 20, 22),
    };
    const struct gf_tuning tuning = { rows, sizeof rows / sizeof rows[0], 1, 1 };
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(2);

    (void)state;
    config.tuning = &tuning;
    config.agent_blocks = 1;
    input.ranks = 8;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_TWO_SHOT);
    input.agents = true;
    assert_true(plan_of(&config, &input).agent);
    input.count = 16 * KIB;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_TWO_SHOT);
}

/* An algorithm's figures grow with the size, in random steps. */
static size_t random_rows(struct gf_tuning_row *rows, int ranks)
{
    size_t count = 0;

    for (int a = GF_PLAN_ONE_SHOT; a <= GF_PLAN_TWO_SHOT; a++) {
        size_t bytes = 1 + (size_t)random() % 64;
        double time = 1 + (double)(random() % 100);

        for (int i = 0; a != GF_PLAN_HOST && i < 1 + (int)(random() % 8); i++) {
            rows[count++] = (struct gf_tuning_row){ GF_TOPOLOGY_SHARED, ranks, a, bytes, time, GF_TUNED_ALLREDUCE };
            bytes += 1 + (size_t)random() % (4 * bytes);
            time += (double)(random() % 100);
        }
    }
    return count;
}

static double at(const struct gf_tuning *tuning, enum gf_algorithm algorithm, size_t bytes)
{
    return gf_tuning_figure(tuning, GF_TOPOLOGY_SHARED, 4, algorithm, bytes).us;
}

static void check_choice(const struct gf_tuning *tuning, size_t bytes)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(bytes);
    double one_shot = at(tuning, GF_PLAN_ONE_SHOT, bytes), ring = at(tuning, GF_PLAN_RING, bytes);
    double two_shot = at(tuning, GF_PLAN_TWO_SHOT, bytes), least = one_shot < ring ? one_shot : ring;

    config.tuning = tuning;
    config.one_shot_bytes = SIZE_MAX;
    input.type = GF_INT8;
    input.shared = true;
    enum gf_algorithm chosen = plan_of(&config, &input).algorithm;

    assert_true(at(tuning, chosen, bytes) <= (two_shot < least ? two_shot : least));
    for (enum gf_algorithm a = GF_PLAN_ONE_SHOT; a <= GF_PLAN_TWO_SHOT; a++) {
        assert_true(at(tuning, a, bytes + 1) >= at(tuning, a, bytes));
    }
}

static void test_the_fastest_is_chosen(void **state)
{
    unsigned seed = 517;

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int i = 0; i < 500; i++) {
        struct gf_tuning_row rows[ROWS];
        struct gf_tuning tuning = { rows, random_rows(rows, 4), 1, 1 };

        for (size_t bytes = 1; bytes < (size_t)1 << 24; bytes += 1 + (size_t)random() % (1 + bytes)) {
            check_choice(&tuning, bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_built_in_chooses_as_is_known),
        cmocka_unit_test(test_figures_between_rows),
        cmocka_unit_test(test_a_table_chooses),
        cmocka_unit_test(test_the_agent_comes_before_a_mapping),
        cmocka_unit_test(test_the_fastest_is_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
