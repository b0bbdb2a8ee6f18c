/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan of an allreduce: pure, within its limits for any input, and true to settings and rules.
 */
#include "core/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/work.h"
#include "tests/unit/plan_input.h"

static void test_sizes_choose(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(2);
    struct gf_plan plan = plan_of(&config, &input);

    (void)state;
    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
    assert_int_equal(plan.blocks, 1);
    assert_int_equal(plan.threads, 32);
    assert_int_equal(plan.pieces, 1);

    input.count = 8 << 10;     /* 32 KiB */
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
    assert_int_equal(plan.blocks, 8);
    assert_int_equal(plan.threads, GF_BLOCK_THREADS);

    input.count = 16 << 20;    /* 64 MiB */
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_TWO_SHOT);
    assert_int_equal(plan.blocks, 33);
    input.unavailable = 1u << GF_PLAN_TWO_SHOT;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_RING);
    assert_int_equal(plan.blocks, 32);
    assert_non_null(strstr(plan.reason, "one_shot_bytes"));

    config.one_shot_bytes = 0;
    input.count = 2;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_RING);
}

/* From a size on that depends on the ranks, unless a setting or the buffers say otherwise. */
static void test_large_ones_go_over_mapped_buffers(void **state)
{
    static const struct { int ranks; size_t least; } cases[] = {
        { 2, 96 << 10 }, { 4, 80 << 10 }, { 8, 48 << 10 }, { 64, 48 << 10 },
    };
    struct gf_config config = default_config();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_plan_input input = default_input(cases[i].least / 4);

        input.ranks = cases[i].ranks;
        assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_TWO_SHOT);
        config.transport = GF_TRANSPORT_SHM;
        assert_int_not_equal(plan_of(&config, &input).algorithm, GF_PLAN_TWO_SHOT);
        config.transport = GF_TRANSPORT_P2P;
        assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_TWO_SHOT);
        config.transport = GF_TRANSPORT_AUTO;
        config.protocol = GF_PROTOCOL_SIMPLE;
        assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_RING);
        config.protocol = GF_PROTOCOL_AUTO;
        input.kernels_may_wait = false;
        assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
        input.kernels_may_wait = true;
        input.count--;
        assert_int_not_equal(plan_of(&config, &input).algorithm, GF_PLAN_TWO_SHOT);
    }
}

/* The agent changes nothing else of a plan, so a rank whose agent is gone launches the same. */
static void test_small_ones_go_to_the_agent(void **state)
{
    struct gf_config config = default_config();
    static const size_t counts[] = { 1, 2, 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct gf_plan_input input = default_input(counts[i]);
        struct gf_plan launched = plan_of(&config, &input), plan;

        assert_false(launched.agent);
        input.agents = true;
        plan = plan_of(&config, &input);
        assert_true(plan.agent);
        assert_non_null(strstr(plan.reason, "by the agent"));
        assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
        assert_int_equal(plan.blocks, launched.blocks);
        assert_int_equal(plan.threads, launched.threads);
    }
    struct gf_plan_input input = default_input(8 << 10);       /* 32 KiB: several blocks are faster */

    input.agents = true;
    assert_false(plan_of(&config, &input).agent);
    config.agent_blocks = 8;                                    /* and the agent has them */
    assert_true(plan_of(&config, &input).agent);
    config.agent_blocks = 1;
    config.ll_slot_bytes = 128;
    input.count = 33;                                           /* two pieces */
    assert_false(plan_of(&config, &input).agent);
    config.algorithm = GF_ALGORITHM_RING;
    input.count = 1;
    assert_false(plan_of(&config, &input).agent);
}

static void test_trivial_calls(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(0);

    (void)state;
    config.algorithm = GF_ALGORITHM_RING;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_NONE);
    input.count = 5;
    input.ranks = 1;
    input.kernels_may_wait = false;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_LOCAL);
}

static void test_settings_are_honoured(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input small = default_input(2), large = default_input(16 << 20);

    (void)state;
    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    struct gf_plan plan = plan_of(&config, &large);

    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
    assert_int_equal(plan.pieces, 1024);
    assert_int_equal(plan.blocks, 16);
    config.algorithm = GF_ALGORITHM_RING;
    assert_int_equal(plan_of(&config, &small).algorithm, GF_PLAN_RING);
    config.algorithm = GF_ALGORITHM_HOST;
    assert_int_equal(plan_of(&config, &small).algorithm, GF_PLAN_HOST);

    config.algorithm = GF_ALGORITHM_AUTO;
    config.protocol = GF_PROTOCOL_LL;
    assert_int_equal(plan_of(&config, &large).algorithm, GF_PLAN_ONE_SHOT);
    config.protocol = GF_PROTOCOL_SIMPLE;
    assert_int_equal(plan_of(&config, &small).algorithm, GF_PLAN_RING);

    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    plan = plan_of(&config, &small);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    assert_non_null(strstr(plan.reason, "contradict"));
}

static void test_ll128_is_taken_where_asked_for_and_possible(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(8 << 10);

    (void)state;
    config.protocol = GF_PROTOCOL_LL128;
    struct gf_plan plan = plan_of(&config, &input);

    assert_int_equal(plan.algorithm, GF_PLAN_LL128);
    assert_int_equal(plan.blocks, 2);
    assert_int_equal(plan.threads, GF_BLOCK_THREADS);
    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    input.count = 1;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_LL128);
    assert_int_equal(plan.threads, 32);
    config.algorithm = GF_ALGORITHM_RING;
    assert_non_null(strstr(plan_of(&config, &input).reason, "contradict"));

    config.algorithm = GF_ALGORITHM_AUTO;
    input.unavailable = 1u << GF_PLAN_LL128;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
    assert_non_null(strstr(plan.reason, "LL128 was asked for"));
    config.strict = true;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
    input.unavailable = 0;
    input.kernels_may_wait = false;
    config.strict = false;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
}

static void test_kernels_that_cannot_run_at_once_never_wait(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(1000);

    (void)state;
    input.kernels_may_wait = false;
    struct gf_plan plan = plan_of(&config, &input);

    assert_int_equal(plan.algorithm, GF_PLAN_HOST);
    assert_int_equal(plan.blocks, 0);
    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    config.strict = true;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
}

static void test_types_of_the_host_are_staged(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(1000);

    (void)state;
    input.type = GF_LONG_DOUBLE;
    input.device_has_type = false;
    struct gf_plan plan = plan_of(&config, &input);

    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    assert_non_null(strstr(plan.reason, gf_type_name(GF_LONG_DOUBLE)));
    config.algorithm = GF_ALGORITHM_HOST;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
}

static void test_what_is_unavailable_is_avoided(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(2);

    (void)state;
    input.unavailable = 1u << GF_PLAN_ONE_SHOT;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_RING);
    input.count = 16 << 20;
    input.unavailable = 1u << GF_PLAN_TWO_SHOT | 1u << GF_PLAN_RING;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT);
    input.unavailable |= 1u << GF_PLAN_ONE_SHOT;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    input.unavailable |= 1u << GF_PLAN_HOST;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    input.unavailable = 1u << GF_PLAN_ONE_SHOT;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
}

static void check_limits(const struct gf_config *config, const struct gf_plan_input *input, const struct gf_plan *plan)
{
    bool one_shot = plan->algorithm == GF_PLAN_ONE_SHOT || plan->algorithm == GF_PLAN_LL128;
    bool waits = one_shot || plan->algorithm == GF_PLAN_RING || plan->algorithm == GF_PLAN_TWO_SHOT;
    bool launches = waits || plan->algorithm == GF_PLAN_ONE_SHOT_MAPPED;

    assert_true(plan->reason[0] != '\0');
    assert_true(!waits || input->kernels_may_wait);
    assert_true(!(input->unavailable & 1u << plan->algorithm));
    assert_true(launches ? plan->blocks >= 1 && plan->blocks <= input->blocks : plan->blocks == 0);
    assert_true(launches ? plan->threads >= 32 && plan->threads <= GF_BLOCK_THREADS && plan->threads % 32 == 0
                         : plan->threads == 0);
    assert_true(!config->deterministic || (plan->algorithm != GF_PLAN_RING && !plan->ring_order));
    assert_true(plan->algorithm != GF_PLAN_LL128 || config->protocol == GF_PROTOCOL_LL128);
    if (one_shot) {
        struct gf_plan_slot slot = gf_plan_slot(config, plan->algorithm);
        size_t piece = slot.data / gf_type_size(input->type);

        assert_true(slot.data % gf_type_size(input->type) == 0 && slot.data < slot.bytes && slot.bytes % GF_LINE == 0);

        assert_true((size_t)plan->pieces * piece >= input->count && ((size_t)plan->pieces - 1) * piece < input->count);
    } else {
        assert_int_equal(plan->pieces, 0);
    }
}

/* The same values give the same plan wherever and whenever: the plan, reason included, is equal to the byte on a second call. */
static void test_any_input(void **state)
{
    unsigned seed = 20261;

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int i = 0; i < 20000; i++) {
        struct gf_config config = default_config();
        struct gf_plan_input input = default_input((size_t)random() >> random() % 31);

        config.ll_slot_bytes = (size_t)GF_LINE << random() % 12;
        config.one_shot_bytes = (size_t)random() >> random() % 31;
        config.algorithm = (enum gf_force_algorithm)(random() % 5 * (random() % 2));
        config.protocol = (enum gf_force_protocol)(random() % 4 * (random() % 2));
        config.strict = random() % 2;
        config.deterministic = random() % 2;
        input.type = (enum gf_type)(random() % GF_TYPE_COUNT);
        input.ranks = 1 + (int)(random() % 64);
        input.blocks = 1 + (int)(random() % 64);
        input.kernels_may_wait = random() % 4 != 0;
        input.device_has_type = random() % 4 != 0;
        input.unavailable = random() % 2 ? (unsigned)(random() % 16) << GF_PLAN_ONE_SHOT : 0;
        input.unavailable |= random() % 2 ? 1u << GF_PLAN_LL128 : 0;
        struct gf_plan first = plan_of(&config, &input), second;

        gf_plan_allreduce(&config, &input, &second);
        assert_int_equal(first.algorithm, second.algorithm);
        assert_int_equal(first.blocks, second.blocks);
        assert_int_equal(first.threads, second.threads);
        assert_int_equal(first.pieces, second.pieces);
        assert_string_equal(first.reason, second.reason);
        check_limits(&config, &input, &first);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(gf_algorithm_name(GF_PLAN_ONE_SHOT), "one-shot");
    assert_string_equal(gf_algorithm_name(GF_PLAN_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_choose),
        cmocka_unit_test(test_large_ones_go_over_mapped_buffers),
        cmocka_unit_test(test_small_ones_go_to_the_agent),
        cmocka_unit_test(test_trivial_calls),
        cmocka_unit_test(test_settings_are_honoured),
        cmocka_unit_test(test_ll128_is_taken_where_asked_for_and_possible),
        cmocka_unit_test(test_kernels_that_cannot_run_at_once_never_wait),
        cmocka_unit_test(test_types_of_the_host_are_staged),
        cmocka_unit_test(test_what_is_unavailable_is_avoided),
        cmocka_unit_test(test_any_input),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
