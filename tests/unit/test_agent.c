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

enum { MOST_TURNS = 100000 };      /* of a wait that ends after one or two, or after some thousand when the device is asked */

/* One device, and the block on it. */
struct fake {
    gf_device device;
    struct gf_agent_work work;     /* of the last launch */
    int launches, syncs;
    gf_status launch_status, query_status;
    uint64_t left_at_sync;         /* what the block says when it is waited for; 0: nothing */
};

static struct fake *fake_of(gf_device *device)
{
    return (struct fake *)(void *)device;
}

static gf_status fake_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    (void)device;
    (void)why;
    *address = aligned_alloc(GF_LINE, (bytes + GF_LINE - 1) / GF_LINE * GF_LINE);
    memset(*address, 0, bytes);
    return GF_OK;
}

static gf_status fake_free(gf_device *device, void *address)
{
    (void)device;
    free(address);
    return GF_OK;
}

static void *fake_address(gf_device *device, const void *address)
{
    (void)device;
    return (void *)(uintptr_t)address;
}

static gf_status fake_stream_create(gf_device *device, gf_stream **stream, struct gf_reason *why)
{
    (void)why;
    *stream = (gf_stream *)(void *)device;
    return GF_OK;
}

static void fake_stream_destroy(gf_device *device, gf_stream *stream)
{
    (void)device;
    (void)stream;
}

static gf_status fake_copy(gf_device *device, gf_stream *stream, void *to, const void *from, size_t bytes)
{
    (void)device;
    (void)stream;
    memcpy(to, from, bytes);
    return GF_OK;
}

static gf_status fake_query(gf_device *device, gf_stream *stream)
{
    (void)stream;
    return fake_of(device)->query_status;
}

static gf_status fake_sync(gf_device *device, gf_stream *stream)
{
    struct fake *fake = fake_of(device);

    (void)stream;
    fake->syncs++;
    if (fake->left_at_sync) {
        gf_host_publish(fake->work.left, fake->left_at_sync);
    }
    return GF_OK;
}

static gf_status fake_launch(gf_device *device, gf_stream *stream, enum gf_kernel kernel, int blocks, int threads,
                             const void *arguments, size_t bytes, struct gf_reason *why)
{
    struct fake *fake = fake_of(device);

    (void)stream;
    (void)threads;
    assert_int_equal(kernel, GF_KERNEL_AGENT);
    assert_int_equal(blocks, 1);
    assert_int_equal(bytes, sizeof fake->work);
    if (fake->launch_status != GF_OK) {
        gf_reason_set(why, "no launch today");
        return fake->launch_status;
    }
    memcpy(&fake->work, arguments, bytes);
    fake->launches++;
    return GF_OK;
}

static const struct gf_device_ops fake_ops = {
    .alloc = fake_alloc, .free = fake_free, .pinned_alloc = fake_alloc, .pinned_free = fake_free,
    .kernel_address = fake_address, .stream_create = fake_stream_create, .stream_destroy = fake_stream_destroy,
    .copy = fake_copy, .stream_query = fake_query, .stream_sync = fake_sync, .launch = fake_launch,
};

static gf_agent *create(struct fake *fake)
{
    gf_agent *agent;

    *fake = (struct fake){ .device.ops = &fake_ops, .query_status = GF_IN_PROGRESS };
    assert_int_equal(gf_agent_create(&fake->device, GF_LINGER_FIXED, 500, &agent, NULL), GF_OK);
    return agent;
}

/* What the block does when the host has waited for a while. */
struct play {
    struct fake *fake;
    uint64_t left, done;           /* to be stored; left first, and done once this was followed by a launch */
    int launches;                  /* before */
    int turns;
};

static gf_status play_block(void *ctx, struct gf_reason *why)
{
    struct play *play = ctx;

    (void)why;
    assert_in_range(++play->turns, 1, MOST_TURNS);
    if (play->left) {
        gf_host_publish(play->fake->work.left, play->left);
        play->left = 0;
    } else if (play->done && play->fake->launches > play->launches) {
        gf_host_publish(play->fake->work.done, play->done);
    }
    return GF_OK;
}

static gf_status run(gf_agent *agent, struct play *play, uint32_t count)
{
    struct gf_command command = { .kind = GF_COMMAND_ALLREDUCE, .count = count, .blocks = 1 };
    const struct gf_host_wait wait = { play_block, play };

    assert_true(gf_agent_claim(agent));
    return gf_agent_run(agent, 7, &command, &wait, NULL);
}

/* The first operation is inside a launch, the second is put into the ring. */
static void run_two(gf_agent *agent, struct fake *fake)
{
    struct play first = { .fake = fake, .done = 1, .launches = 0 }, second = { .fake = fake, .done = 2, .launches = 0 };

    assert_int_equal(run(agent, &first, 11), GF_OK);
    assert_int_equal(fake->launches, 1);
    assert_int_equal(fake->work.first, 0);
    assert_int_equal(fake->work.command.count, 11);
    assert_int_equal(fake->work.command.linger_us, 500);
    assert_int_equal(fake->work.command.table, 7);
    assert_int_equal(run(agent, &second, 12), GF_OK);
    assert_int_equal(fake->launches, 1);
}

static void test_a_command_costs_no_launch(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);

    (void)state;
    run_two(agent, &fake);
    fake.left_at_sync = 3;
    gf_agent_destroy(agent);
}

/* It has looked for the last time when the command is put, and says so when the host is waiting already. */
static void test_it_leaves_while_a_command_comes(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);
    struct play play = { .fake = &fake, .left = 2, .done = 3, .launches = 1 };

    (void)state;
    run_two(agent, &fake);
    assert_int_equal(run(agent, &play, 13), GF_OK);
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.work.first, 2);
    assert_int_equal(fake.work.command.count, 13);
    fake.left_at_sync = 4;
    gf_agent_destroy(agent);
}

/* It has left before the command to leave comes: nobody is launched for that, and numbers go on where they were. */
static void test_sent_away_when_gone(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);
    struct play play = { .fake = &fake, .done = 3, .launches = 1 };

    (void)state;
    run_two(agent, &fake);
    fake.left_at_sync = 2;
    gf_agent_dismiss(agent);
    assert_int_equal(fake.launches, 1);
    assert_int_equal(fake.syncs, 1);
    gf_agent_dismiss(agent);
    assert_int_equal(fake.syncs, 1);
    assert_int_equal(run(agent, &play, 14), GF_OK);
    assert_int_equal(fake.launches, 2);
    assert_int_equal(fake.work.first, 2);
    assert_int_equal(fake.work.command.count, 14);
    fake.left_at_sync = 3;
    gf_agent_destroy(agent);
}

static void test_failures_end_it(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);
    struct play play = { .fake = &fake };

    (void)state;
    fake.launch_status = GF_ERR_UNSUPPORTED;
    assert_int_equal(run(agent, &play, 1), GF_ERR_DEVICE);
    assert_false(gf_agent_claim(agent));
    gf_agent_destroy(agent);

    agent = create(&fake);
    fake.query_status = GF_OK;     /* the kernel is gone, and has said nothing */
    assert_int_equal(run(agent, &play, 1), GF_ERR_DEVICE);
    assert_false(gf_agent_claim(agent));
    gf_agent_destroy(agent);
}

/* Who cannot have it does not wait. */
static void test_one_at_a_time(void **state)
{
    struct fake fake;
    gf_agent *agent = create(&fake);
    struct play play = { .fake = &fake, .done = 1 };
    struct gf_command command = { .kind = GF_COMMAND_ALLREDUCE, .count = 1, .blocks = 1 };
    const struct gf_host_wait wait = { play_block, &play };

    (void)state;
    assert_true(gf_agent_claim(agent));
    assert_false(gf_agent_claim(agent));
    assert_int_equal(gf_agent_run(agent, 0, &command, &wait, NULL), GF_OK);
    assert_true(gf_agent_claim(agent));
    play.done = 2;
    assert_int_equal(gf_agent_run(agent, 0, &command, &wait, NULL), GF_OK);
    fake.left_at_sync = 3;
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
        cmocka_unit_test(test_sent_away_when_gone),
        cmocka_unit_test(test_failures_end_it),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_tables_change_hands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
