/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans of what goes over mapped buffers, in turns on one device, and between nodes.
 */
#include "core/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/forced.h"
#include "kernels/work.h"
#include "tests/unit/plan_input.h"

/* Two-shot never fails a call, also of who asks for it: where the buffers cannot be mapped, the rest of the choice is as without
 * it. */
static void test_two_shot_is_asked_for(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input small = default_input(2), large = default_input(16 << 20);

    (void)state;
    config.algorithm = GF_ALGORITHM_TWO_SHOT;
    struct gf_plan plan = plan_of(&config, &large);

    assert_int_equal(plan.algorithm, GF_PLAN_TWO_SHOT);
    assert_int_equal(plan.blocks, 33);
    assert_int_equal(plan_of(&config, &small).blocks, 1);
    large.blocks = 200;
    assert_int_equal(plan_of(&config, &large).blocks, GF_MAX_CHANNELS);
    small.unavailable = large.unavailable = 1u << GF_PLAN_TWO_SHOT;
    assert_int_equal(plan_of(&config, &small).algorithm, GF_PLAN_ONE_SHOT);
    plan = plan_of(&config, &large);
    assert_int_equal(plan.algorithm, GF_PLAN_RING);
    assert_non_null(strstr(plan.reason, "do not allow it"));
    assert_non_null(strstr(plan.reason, "one_shot_bytes"));
    config.strict = true;
    assert_int_equal(plan_of(&config, &large).algorithm, GF_PLAN_STAGE);
    config.protocol = GF_PROTOCOL_SIMPLE;
    large.unavailable = 0;
    assert_int_equal(plan_of(&config, &large).algorithm, GF_PLAN_STAGE);
    config.protocol = GF_PROTOCOL_AUTO;
    large.kernels_may_wait = false;
    config.strict = false;
    assert_int_equal(plan_of(&config, &large).algorithm, GF_PLAN_HOST);
}

/* Much data goes by kernels that wait for nobody, where no setting says otherwise. */
static void test_kernels_take_turns(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(512 << 10);    /* 2 MiB */

    (void)state;
    input.kernels_may_wait = false;
    input.ranks = 4;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT_MAPPED);
    assert_true(plan_of(&config, &input).blocks > 1);
    config.strict = true;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT_MAPPED);
    config.strict = false;
    input.count--;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    input.count++;
    config.transport = GF_TRANSPORT_SHM;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    config.transport = GF_TRANSPORT_AUTO;
    input.unavailable = 1u << GF_PLAN_ONE_SHOT_MAPPED;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    input.unavailable = 0;
    input.ranks = GF_LOCAL_INPUTS + 1;
    input.count *= 8;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
}

/* One-shot over mapped buffers waits for nobody, and has room for some ranks. */
static void test_one_shot_over_mapped_buffers(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(8 << 10);      /* 32 KiB */

    (void)state;
    config.algorithm = GF_ALGORITHM_ONE_SHOT_MAPPED;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT_MAPPED);
    assert_int_equal(plan_of(&config, &input).blocks, 2);
    input.kernels_may_wait = false;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT_MAPPED);
    input.unavailable = 1u << GF_PLAN_ONE_SHOT_MAPPED;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_HOST);
    input.kernels_may_wait = true;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT);
    input.unavailable = 0;
    input.ranks = GF_LOCAL_INPUTS + 1;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_ONE_SHOT);
    config.strict = true;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
    config.protocol = GF_PROTOCOL_LL;
    assert_non_null(strstr(plan_of(&config, &input).reason, "contradict"));
}

/* What an exchange is done by; nothing of it depends on whether kernels may wait. */
static void test_exchanges(void **state)
{
    struct gf_config config = { .mapped = GF_MAPPED_KERNEL };
    struct gf_plan_input input = { .ranks = 8, .blocks = 16 };
    struct gf_plan plan;

    (void)state;
    gf_plan_exchange(&config, &input, false, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_EXCHANGE);
    assert_int_equal(plan.blocks, 8);
    assert_int_equal(plan.threads, 32);
    gf_plan_exchange(&config, &input, true, 7, 16 << 20, &plan);
    assert_int_equal(plan.blocks, 16);
    assert_int_equal(plan.threads, GF_BLOCK_THREADS);
    input.unavailable = 1u << GF_PLAN_EXCHANGE;
    gf_plan_exchange(&config, &input, false, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_EXCHANGE_COPY);
    assert_int_equal(plan.blocks, 0);
    gf_plan_exchange(&config, &input, true, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    config.strict = true;
    gf_plan_exchange(&config, &input, false, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    config.mapped = GF_MAPPED_COPY;
    gf_plan_exchange(&config, &input, false, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_EXCHANGE_COPY);
    config.mapped = GF_MAPPED_AUTO;
    input.unavailable = 0;
    gf_plan_exchange(&config, &input, true, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);          /* kernels may not wait, so the GPU is in slices */
    input.kernels_may_wait = true;
    gf_plan_exchange(&config, &input, true, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_EXCHANGE);
    input.unavailable = 1u << GF_PLAN_EXCHANGE;
    gf_plan_exchange(&config, &input, false, 8, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    input.ranks = 1;
    gf_plan_exchange(&config, &input, true, 1, 64, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_LOCAL);
}

/* The ring does not keep the order of the ranks, so it is not taken where that is asked for; nor does two-shot follow it. */
static void test_the_order_of_the_ranks(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input small = default_input(2), large = default_input(16 << 20);

    (void)state;
    assert_true(plan_of(&config, &large).ring_order);
    config.deterministic = true;
    assert_int_equal(plan_of(&config, &large).algorithm, GF_PLAN_TWO_SHOT);
    assert_false(plan_of(&config, &large).ring_order);
    large.unavailable = 1u << GF_PLAN_TWO_SHOT;
    struct gf_plan plan = plan_of(&config, &large);

    assert_int_equal(plan.algorithm, GF_PLAN_ONE_SHOT);
    assert_int_equal(plan.pieces, 1024);
    assert_non_null(strstr(plan.reason, "the order of the ranks is asked for"));
    assert_false(gf_forced_loses_order(&config));
    config.algorithm = GF_ALGORITHM_RING;
    assert_true(gf_forced_loses_order(&config));
    assert_int_equal(plan_of(&config, &small).algorithm, GF_PLAN_ONE_SHOT);
    config.algorithm = GF_ALGORITHM_AUTO;
    config.transport = GF_TRANSPORT_SHM_COPY;
    assert_true(gf_forced_loses_order(&config));
    assert_int_equal(plan_of(&config, &small).algorithm, GF_PLAN_HOST);
    config.strict = true;
    plan = plan_of(&config, &small);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    assert_non_null(strstr(plan.reason, "the order of the ranks is asked for"));
    config.transport = GF_TRANSPORT_AUTO;
    large.nodes = 2;
    assert_int_equal(plan_of(&config, &large).algorithm, GF_PLAN_STAGE);
    config.deterministic = false;
    config.transport = GF_TRANSPORT_SHM_COPY;
    assert_false(gf_forced_loses_order(&config));
}

/* A reduction needs a kernel that knows the type and has room for all ranks; auto, kernels that run at once. */
static void test_reductions(void **state)
{
    struct gf_config config = { .mapped = GF_MAPPED_KERNEL };
    struct gf_plan_input input = { .count = 1 << 20, .type = GF_DOUBLE, .ranks = GF_LOCAL_INPUTS, .blocks = 16,
                                   .device_has_type = true };
    struct gf_plan plan;

    (void)state;
    gf_plan_reduce(&config, &input, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_REDUCE_MAPPED);
    assert_int_equal(plan.blocks, 16);
    assert_int_equal(plan.threads, GF_BLOCK_THREADS);
    config.mapped = GF_MAPPED_AUTO;
    gf_plan_reduce(&config, &input, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    assert_non_null(strstr(plan.reason, "MPS"));
    input.kernels_may_wait = true;
    input.count = 0;
    gf_plan_reduce(&config, &input, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_REDUCE_MAPPED);
    assert_int_equal(plan.blocks, 1);
    config.mapped = GF_MAPPED_COPY;
    gf_plan_reduce(&config, &input, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    config.mapped = GF_MAPPED_KERNEL;
    input.ranks = GF_LOCAL_INPUTS + 1;
    gf_plan_reduce(&config, &input, &plan);
    assert_string_equal(plan.reason, "a kernel reduces the buffers of 16 ranks, and these are 17");
    input.ranks = 2;
    input.device_has_type = false;
    gf_plan_reduce(&config, &input, &plan);
    assert_string_equal(plan.reason, "the device has no arithmetic for double");
    input.device_has_type = true;
    input.unavailable = 1u << GF_PLAN_REDUCE_MAPPED;
    gf_plan_reduce(&config, &input, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    input.ranks = 1;
    gf_plan_reduce(&config, &input, &plan);
    assert_int_equal(plan.algorithm, GF_PLAN_LOCAL);
}

/* Between nodes: the ring for what is long, and MPI. */
static void test_between_nodes(void **state)
{
    struct gf_config config = default_config();
    struct gf_plan_input input = default_input(1 << 20);
    struct gf_plan plan;

    (void)state;
    input.nodes = 2;
    input.unavailable = ~(1u << GF_PLAN_RING);
    config.net_bytes = 4 << 20;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_RING);
    assert_int_equal(plan.blocks, 32);
    assert_non_null(strstr(plan.reason, "2 nodes"));
    for (enum gf_force_algorithm forced = GF_ALGORITHM_AUTO; forced <= GF_ALGORITHM_ONE_SHOT_MAPPED; forced++) {
        bool ring = forced == GF_ALGORITHM_AUTO || forced == GF_ALGORITHM_RING;

        config.algorithm = forced;
        plan = plan_of(&config, &input);
        assert_int_equal(plan.algorithm, ring ? GF_PLAN_RING : GF_PLAN_STAGE);
        assert_true(ring || strstr(plan.reason, "the ring alone"));
    }
    config.algorithm = GF_ALGORITHM_AUTO;
    input.kernels_may_wait = false;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
    input.kernels_may_wait = true;
    input.unavailable = ~0u;
    assert_int_equal(plan_of(&config, &input).algorithm, GF_PLAN_STAGE);
    input.unavailable = ~(1u << GF_PLAN_RING);
    input.count--;
    plan = plan_of(&config, &input);
    assert_int_equal(plan.algorithm, GF_PLAN_STAGE);
    assert_string_equal(plan.reason, "2 nodes: 4194300 bytes go through MPI, which net_bytes = 4194304 leaves to it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_shot_is_asked_for),
        cmocka_unit_test(test_kernels_take_turns),
        cmocka_unit_test(test_one_shot_over_mapped_buffers),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_between_nodes),
        cmocka_unit_test(test_the_order_of_the_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
