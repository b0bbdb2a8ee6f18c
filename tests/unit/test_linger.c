/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long the agent stays, for programs of several kinds; their time is counted, none passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/linger.h"

enum { LAUNCHED_US = 10, BY_AGENT_US = 5, FEW_CALLS = 1000, CALLS = 100000 };

/* A program computes for gap_us between two calls; one that synchronises does so when the agent has left. */
struct program {
    uint32_t gap_us;
    uint32_t sync_every;           /* a call of so many is followed by a synchronisation; 0: none */
};

/* Time in microseconds; *by_agent: calls that found it there. */
static uint64_t run(struct gf_linger *linger, const struct program *program, uint32_t calls, uint64_t *by_agent)
{
    uint64_t spent = 0, gap = 1000000;
    bool here = false;

    *by_agent = 0;
    for (uint32_t call = 1; call <= calls; call++) {
        uint32_t us = gf_linger_next(linger, here, gap);

        spent += here && us > 0 ? BY_AGENT_US : LAUNCHED_US;
        *by_agent += here && us > 0;
        gap = program->gap_us;
        if (program->sync_every && call % program->sync_every == 0) {
            gap += us;
        }
        here = us > 0 && gap < us;
        spent += gap;
    }
    return spent;
}

static void test_calls_in_a_row_find_it(void **state)
{
    static const uint32_t gaps[] = { 0, 3, 20, 60, 90 };

    (void)state;
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        struct program program = { .gap_us = gaps[i] };
        struct gf_linger linger;
        uint64_t by_agent;

        gf_linger_init(&linger, GF_LINGER_AUTO, 0);
        run(&linger, &program, 1000, &by_agent);
        assert_in_range(by_agent, 990, 1000);
        assert_true(linger.us > gaps[i] && linger.us <= GF_LINGER_MOST);
        assert_true(linger.us <= 2 * gaps[i] + GF_LINGER_LEAST + GF_LINGER_LEAST);
    }
}

/* Of a program whose calls come closer together than before it stays for less again, by and by. */
static void test_it_stays_less_again(void **state)
{
    struct program slow = { .gap_us = 80 }, fast = { .gap_us = 5 };
    struct gf_linger linger;
    uint64_t by_agent;

    (void)state;
    gf_linger_init(&linger, GF_LINGER_AUTO, 0);
    run(&linger, &slow, FEW_CALLS, &by_agent);
    assert_in_range(linger.us, 80, GF_LINGER_MOST);
    run(&linger, &fast, FEW_CALLS, &by_agent);
    assert_in_range(linger.us, 5, 2 * 5 + 2 * GF_LINGER_LEAST);
}

/* At most 3 % slower than with every call launched, in a short run and in all, and less in the long run. */
static void test_a_program_that_synchronises_loses_nothing(void **state)
{
    static const uint32_t gaps[] = { 0, 5, 50, 150, 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        struct program program = { .gap_us = gaps[i], .sync_every = 1 };
        struct gf_linger linger;
        uint64_t by_agent, launched = LAUNCHED_US + gaps[i];

        gf_linger_init(&linger, GF_LINGER_AUTO, 0);
        assert_in_range(run(&linger, &program, FEW_CALLS, &by_agent), 0, FEW_CALLS * launched * 103 / 100);
        assert_in_range(run(&linger, &program, CALLS, &by_agent), 0, CALLS * launched * 102 / 100);
        assert_in_range(run(&linger, &program, CALLS, &by_agent), 0, CALLS * launched * 101 / 100);
    }
}

/* Now and then a synchronisation among many calls: worth it or not, the account tells. */
static void test_mixed_programs(void **state)
{
    (void)state;
    for (uint32_t every = 2; every <= 64; every *= 2) {
        for (uint32_t gap = 0; gap <= 80; gap += 20) {
            struct program program = { .gap_us = gap, .sync_every = every };
            struct gf_linger linger;
            uint64_t by_agent, launched = (uint64_t)CALLS * (LAUNCHED_US + gap);

            gf_linger_init(&linger, GF_LINGER_AUTO, 0);
            assert_in_range(run(&linger, &program, CALLS, &by_agent), 0, launched + launched * 3 / 100);
        }
    }
}

/* A synchronisation among many calls is no reason to go without: nearly all of the others find it. */
static void test_it_is_worth_while(void **state)
{
    struct program program = { .gap_us = 2, .sync_every = 64 };
    struct gf_linger linger;
    uint64_t by_agent;

    (void)state;
    gf_linger_init(&linger, GF_LINGER_AUTO, 0);
    run(&linger, &program, CALLS, &by_agent);
    assert_in_range(by_agent, CALLS / 64 * 62, CALLS);
}

/* It comes back when the program changes its ways. */
static void test_a_program_that_changes(void **state)
{
    struct program synchronises = { .gap_us = 5, .sync_every = 1 }, calls = { .gap_us = 5 };
    struct gf_linger linger;
    uint64_t by_agent;

    (void)state;
    gf_linger_init(&linger, GF_LINGER_AUTO, 0);
    run(&linger, &synchronises, CALLS, &by_agent);
    assert_int_equal(linger.us, 0);
    run(&linger, &calls, 2 * GF_LINGER_PAUSE_MOST, &by_agent);
    assert_in_range(by_agent, GF_LINGER_PAUSE_MOST / 2, 2 * GF_LINGER_PAUSE_MOST);
    run(&linger, &synchronises, 1000, &by_agent);
    assert_int_equal(linger.us, 0);
}

static void test_fixed(void **state)
{
    struct gf_linger linger;

    (void)state;
    gf_linger_init(&linger, GF_LINGER_FIXED, 700);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(gf_linger_next(&linger, i % 7 == 0, 10000), 700);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_in_a_row_find_it),
        cmocka_unit_test(test_it_stays_less_again),
        cmocka_unit_test(test_a_program_that_synchronises_loses_nothing),
        cmocka_unit_test(test_mixed_programs),
        cmocka_unit_test(test_it_is_worth_while),
        cmocka_unit_test(test_a_program_that_changes),
        cmocka_unit_test(test_fixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
