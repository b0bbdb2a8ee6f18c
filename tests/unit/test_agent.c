/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host side of the agent, on a device that is no more than a table of functions: the test plays the block, and so decides
 * what it does at which moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/agent.h"
#include "core/host_ordered.h"
#include "core/linger.h"
#include "kernels/ordered.h"
#include "tests/unit/agent_device.h"

enum { MOST_TURNS = 100000 };      /* of a wait that ends after one or two, or after some thousand when the device is asked */

static const struct gf_config patient = { .agent = GF_AGENT_FIXED, .agent_us = 500, .agent_blocks = 1,
                                         .agent_start_us = 100000000 };
static const struct gf_config hasty = { .agent = GF_AGENT_FIXED, .agent_us = 500, .agent_blocks = 3, .agent_start_us = 0 };

static gf_agent *create_as(struct fake *fake, const struct gf_config *config)
{
    gf_agent *agent;

    *fake = (struct fake){ .device.ops = &fake_ops, .query_status = GF_IN_PROGRESS, .blocks = config->agent_blocks };
    assert_int_equal(gf_agent_create(&fake->device, config, &agent, NULL), GF_OK);
    fake->syncs = 0;
    return agent;
}

static gf_agent *create(struct fake *fake)
{
    return create_as(fake, &patient);
}

/* What the block does, a step each time the host has waited for a while. */
struct step {
    int launches;                  /* so many have been made: the step before it is for those before */
    uint64_t done, left;           /* to be stored; 0: not */
    gf_status failure;             /* of the host's wait */
};

struct play {
    struct fake *fake;
    const struct step *steps;
    int turns;
};

static gf_status play_block(void *ctx, struct gf_reason *why)
{
    struct play *play = ctx;
    const struct step *step = play->steps;

    assert_in_range(++play->turns, 1, MOST_TURNS);
    if (step->launches == 0 || step->launches > play->fake->launches) {
        return GF_OK;
    }
    play->steps++;
    if (step->left) {
        gf_host_publish(play->fake->work.left, step->left);
    }
    if (step->done) {
        gf_host_publish(play->fake->work.done, step->done);
    }
    if (step->failure != GF_OK) {
        gf_reason_set(why, "the wait failed");
    }
    return step->failure;
}

static gf_status run_claimed(gf_agent *agent, struct fake *fake, const struct step *steps)
{
    struct gf_command command = { .kind = GF_COMMAND_ALLREDUCE, .bytes = 11, .blocks = 1 };
    struct play play = { fake, steps, 0 };
    const struct gf_host_wait wait = { play_block, &play };
    gf_status status = gf_agent_run(agent, 7, &command, &wait, NULL);

    assert_true(status == GF_ERR_DEVICE || play.steps->launches == 0);
    return status;
}

static gf_status run(gf_agent *agent, struct fake *fake, const struct step *steps)
{
    assert_true(gf_agent_claim(agent));
    return run_claimed(agent, fake, steps);
}

/* The command on the line of that number. */
static struct gf_command command_at(const struct fake *fake, uint64_t number)
{
    union gf_command_line line;

    for (int i = 0; i < GF_COMMAND_WORDS; i++) {
        uint64_t word = fake->work.ring[number % GF_COMMANDS * GF_COMMAND_WORDS + (size_t)i];

        assert_int_equal(word >> 32, gf_command_flag(number));
        line.word[i] = (uint32_t)word;
    }
    return line.command;
}

/* A launch that has begun takes the commands 1 and 2. */
static void run_two(gf_agent *agent, struct fake *fake)
{
    static const struct step first[] = { { 1, 1, 0, GF_OK }, { 1, 2, 0, GF_OK }, { 0 } };
    static const struct step second[] = { { 1, 3, 0, GF_OK }, { 0 } };

    assert_int_equal(run(agent, fake, first), GF_OK);
    assert_int_equal(fake->launches, 1);
    assert_int_equal(fake->work.first, 0);
    assert_int_equal(fake->work.linger_us, 500);
    assert_int_equal(command_at(fake, 1).bytes, 11);
    assert_int_equal(command_at(fake, 1).linger_us, 500);
    assert_int_equal(command_at(fake, 1).table, 7);
    assert_int_equal(run(agent, fake, second), GF_OK);
    assert_int_equal(fake->launches, 1);
    assert_int_equal(gf_agent_statistics_of(agent).commands, 2);
}

static void leave_and_destroy(gf_agent *agent, struct fake *fake, uint64_t left)
{
    fake->left_at_sync = left;
    gf_agent_destroy(agent);
}

static void test_a_command_costs_no_launch(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    run_two(agent, &fake);
    leave_and_destroy(agent, &fake, 4);
}

/* It has looked for the last time when the command is put, and says so when the host is waiting already: the command has another
 * number in the next launch. */
static void test_it_leaves_while_a_command_comes(void **state)
{
    static const struct step steps[] = { { 1, 0, 3, GF_OK }, { 2, 5, 0, GF_OK }, { 2, 6, 0, GF_OK }, { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    run_two(agent, &fake);
    assert_int_equal(run(agent, &fake, steps), GF_OK);
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.work.first, 4);
    assert_int_equal(command_at(&fake, 3).bytes, 11);
    assert_int_equal(command_at(&fake, 5).bytes, 11);
    leave_and_destroy(agent, &fake, 7);
}

/* It takes the command and leaves before the host looks: what it has taken was done. */
static void test_it_leaves_behind_a_command(void **state)
{
    static const struct step steps[] = { { 1, 0, 4, GF_OK }, { 1, 4, 0, GF_OK }, { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    run_two(agent, &fake);
    assert_int_equal(run(agent, &fake, steps), GF_OK);
    assert_int_equal(fake.launches, 1);
    gf_agent_destroy(agent);
    assert_int_equal(fake.syncs, 0);
}

/* It has left before the command to leave comes: nobody is launched for that. */
static void test_sent_away_when_gone(void **state)
{
    static const struct step steps[] = { { 2, 5, 0, GF_OK }, { 2, 6, 0, GF_OK }, { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    run_two(agent, &fake);
    fake.left_at_sync = 3;
    gf_agent_dismiss(agent);
    assert_int_equal(command_at(&fake, 3).kind, GF_COMMAND_LEAVE);
    assert_int_equal(fake.launches, 1);
    assert_int_equal(fake.syncs, 1);
    gf_agent_dismiss(agent);
    assert_int_equal(fake.syncs, 1);
    assert_int_equal(run(agent, &fake, steps), GF_OK);
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.work.first, 4);
    leave_and_destroy(agent, &fake, 7);
}

/* A full device: the launch does not begin. Calls come back at once, no command is put, none is launched any more; when it has
 * come and gone at last, all is as before. */
static void test_kept_out(void **state)
{
    static const struct step none[] = { { 0 } }, steps[] = { { 2, 3, 0, GF_OK }, { 2, 4, 0, GF_OK }, { 0 } };
    struct fake fake;
    gf_agent *agent = create_as(&fake, &hasty);

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run(agent, &fake, none), GF_NO_RESOURCE);
        assert_int_equal(fake.launches, 1);
        assert_int_equal(gf_agent_statistics_of(agent).refused, i + 1);
    }
    fake.left_at_sync = 1;
    gf_agent_dismiss(agent);
    assert_int_equal(fake.syncs, 1);
    gf_host_publish(fake.work.done, 1);
    assert_int_equal(run(agent, &fake, none), GF_NO_RESOURCE);
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.work.first, 1);
    gf_host_publish(fake.work.done, 2);
    assert_int_equal(run(agent, &fake, &steps[1]), GF_OK);
    assert_int_equal(command_at(&fake, 2).bytes, 11);
    leave_and_destroy(agent, &fake, 4);
}

/* A host that is slower than the agent has patience gives up. */
static void test_it_never_stays_for_the_command(void **state)
{
    static const struct step steps[] = { { 1, 1, 1, GF_OK }, { 2, 2, 2, GF_OK }, { 3, 3, 3, GF_OK }, { 4, 4, 4, GF_OK }, { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    assert_int_equal(run(agent, &fake, steps), GF_NO_RESOURCE);
    assert_int_equal(fake.launches, 4);
    gf_agent_destroy(agent);
}

/* A peer that is gone ends the wait for the agent; a command that was given is waited for all the same. */
static void test_the_wait_fails(void **state)
{
    static const struct step before[] = { { 1, 0, 0, GF_ERR_PEER }, { 0 } };
    static const struct step after[] = { { 1, 1, 0, GF_OK }, { 1, 0, 0, GF_ERR_PEER }, { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    assert_int_equal(run(agent, &fake, before), GF_ERR_PEER);
    gf_host_publish(fake.work.done, 1);
    assert_true(gf_agent_claim(agent));
    fake.done_at_query = 2;
    assert_int_equal(run_claimed(agent, &fake, &after[1]), GF_OK);
    leave_and_destroy(agent, &fake, 3);
}

static void test_failures_end_it(void **state)
{
    static const struct step none[] = { { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    fake.launch_status = GF_ERR_UNSUPPORTED;
    assert_int_equal(run(agent, &fake, none), GF_ERR_DEVICE);
    assert_false(gf_agent_claim(agent));
    gf_agent_destroy(agent);

    agent = create(&fake);
    fake.query_status = GF_OK;     /* the kernel is gone, and has said nothing */
    assert_int_equal(run(agent, &fake, none), GF_ERR_DEVICE);
    assert_false(gf_agent_claim(agent));
    gf_agent_destroy(agent);
}

/* Who cannot have it does not wait. */
static void test_one_at_a_time(void **state)
{
    static const struct step first[] = { { 1, 1, 0, GF_OK }, { 1, 2, 0, GF_OK }, { 0 } };
    static const struct step second[] = { { 1, 3, 0, GF_OK }, { 0 } };
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    assert_true(gf_agent_claim(agent));
    assert_false(gf_agent_claim(agent));
    assert_int_equal(run_claimed(agent, &fake, first), GF_OK);
    assert_int_equal(run(agent, &fake, second), GF_OK);
    leave_and_destroy(agent, &fake, 4);
}

/* Messages go by launches until it has begun, however many come: that is no reason to believe that it is not wanted. */
static void test_what_comes_before_it_has_begun(void **state)
{
    static const struct gf_config experienced = { .agent = GF_AGENT_AUTO, .agent_blocks = 1, .agent_start_us = 100000000 };
    struct gf_command message = { .kind = GF_COMMAND_PULL };
    struct fake fake;
    gf_agent *agent = create_as(&fake, &experienced);
    uint32_t returned;

    (void)state;
    for (int call = 0; call < 10 * GF_LINGER_FIRST; call++) {
        assert_false(gf_agent_post(agent, &message, &returned));
        gf_agent_invite(agent);
    }
    assert_int_equal(fake.launches, 1);
    gf_host_publish(fake.work.done, 1);
    assert_true(gf_agent_post(agent, &message, &returned));
    gf_host_publish(fake.work.done, 2);
    leave_and_destroy(agent, &fake, 2);
}

/* A launch and a command for it, which then leaves. */
static void run_in_blocks(gf_agent *agent, struct fake *fake, int blocks)
{
    uint64_t first = 2 * (uint64_t)fake->launches;
    int launch = fake->launches + 1;
    const struct step steps[] = { { launch, first + 1, 0, GF_OK }, { launch, first + 2, 0, GF_OK }, { 0 } };

    fake->blocks = blocks;
    assert_int_equal(run(agent, fake, steps), GF_OK);
    gf_host_publish(fake->work.left, first + 2);
}

/* One until a communicator has said how many; then the least of what they say. */
static void test_blocks_that_are_allowed(void **state)
{
    static const struct gf_config unsaid = { .agent = GF_AGENT_FIXED, .agent_us = 500, .agent_blocks = 0,
                                             .agent_start_us = 100000000 };
    struct fake fake;
    gf_agent *agent = create_as(&fake, &unsaid);

    (void)state;
    run_in_blocks(agent, &fake, 1);
    gf_agent_allow_blocks(agent, 4);
    run_in_blocks(agent, &fake, 4);
    gf_agent_allow_blocks(agent, 8);
    run_in_blocks(agent, &fake, 4);
    gf_agent_allow_blocks(agent, 2);
    run_in_blocks(agent, &fake, 2);
    gf_agent_destroy(agent);
    agent = create(&fake);
    gf_agent_allow_blocks(agent, 4);
    run_in_blocks(agent, &fake, 1);
    gf_agent_destroy(agent);
}

static void test_tables_change_hands(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);
    const struct gf_one_shot_work work = { .slot_bytes = 128 };
    int tables[GF_AGENT_TABLES], again;

    (void)state;
    for (int i = 0; i < GF_AGENT_TABLES; i++) {
        assert_int_equal(gf_agent_introduce(agent, NULL, &work, &tables[i], NULL), GF_OK);
        assert_int_equal(tables[i] % GF_AGENT_TABLES, i);
    }
    assert_int_equal(gf_agent_introduce(agent, NULL, &work, &again, NULL), GF_NO_RESOURCE);
    assert_int_equal(again, GF_AGENT_UNKNOWN);
    gf_agent_forget(agent, again);
    gf_agent_forget(agent, tables[9]);
    assert_int_equal(gf_agent_introduce(agent, NULL, &work, &again, NULL), GF_OK);
    assert_int_equal(again % GF_AGENT_TABLES, 9);
    assert_int_not_equal(again, tables[9]);
    gf_agent_destroy(agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_command_costs_no_launch),
        cmocka_unit_test(test_it_leaves_while_a_command_comes),
        cmocka_unit_test(test_it_leaves_behind_a_command),
        cmocka_unit_test(test_sent_away_when_gone),
        cmocka_unit_test(test_kept_out),
        cmocka_unit_test(test_it_never_stays_for_the_command),
        cmocka_unit_test(test_the_wait_fails),
        cmocka_unit_test(test_failures_end_it),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_what_comes_before_it_has_begun),
        cmocka_unit_test(test_blocks_that_are_allowed),
        cmocka_unit_test(test_tables_change_hands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
