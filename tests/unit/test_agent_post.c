/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Commands that are posted to the agent: none before it runs, what fits into its ring, and what it leaves lying. What keeps it
 * busy is an allreduce whose peer never comes, until the test raises the abort word: so nothing depends on time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"
#include "core/agent.h"
#include "core/config.h"
#include "core/host_ordered.h"

enum { BYTES = 100, SLOT_BYTES = 4 * GF_LINE };

/* Pinned memory, by its user address and as kernels see it. */
struct shared {
    uint32_t abort, error;
    uint64_t end[GF_COMMANDS];
    unsigned char from[BYTES], to[GF_COMMANDS][BYTES];
    char here[2 * SLOT_BYTES] __attribute__((aligned(GF_LINE)));    /* for the peer's lines, which never come */
    char there[2 * SLOT_BYTES];    /* for ours */
};

struct fixture {
    gf_device *device;
    gf_stream *stream;
    gf_agent *agent;
    struct shared *shared, *seen;
    uint32_t returned[GF_COMMANDS];
};

static void open_fixture(struct fixture *f)
{
    gf_driver *driver;
    void *memory;
    const struct gf_config settings = { .agent = GF_AGENT_FIXED, .agent_us = GF_AGENT_US_MOST, .agent_blocks = 1,
                                        .agent_start_us = 60000000 };

    *f = (struct fixture){ .device = NULL };
    assert_int_equal(gf_driver_open("emulated", &driver, NULL), GF_OK);
    assert_int_equal(gf_device_open(driver, 0, &f->device, NULL), GF_OK);
    assert_int_equal(gf_device_stream_create(f->device, &f->stream, NULL), GF_OK);
    assert_int_equal(gf_device_pinned_alloc(f->device, sizeof *f->shared, &memory, NULL), GF_OK);
    f->shared = memory;
    f->seen = gf_device_kernel_address(f->device, memory);
    for (int i = 0; i < BYTES; i++) {
        f->shared->from[i] = (unsigned char)(i + 1);
    }
    assert_int_equal(gf_agent_create(f->device, &settings, &f->agent, NULL), GF_OK);
}

static void close_fixture(struct fixture *f)
{
    gf_agent_destroy(f->agent);
    gf_device_pinned_free(f->device, f->shared);
    gf_device_stream_destroy(f->device, f->stream);
    gf_device_close(f->device);
}

static bool post_pull(struct fixture *f, int i)
{
    union gf_command_line line = { .pull = {
        .kind = GF_COMMAND_PULL, .to_host = 1, .last = BYTES - 1, .from = f->seen->from, .to = f->seen->to[i],
        .end = &f->seen->end[i],
    } };

    return gf_agent_post(f->agent, &line.command, &f->returned[i]);
}

static bool has_ended(const struct fixture *f, int i)
{
    return gf_host_observe(&f->shared->end[i]) == GF_PULL_END;
}

static bool has_arrived(const struct fixture *f, int i)
{
    return memcmp(f->shared->to[i], f->shared->from, BYTES) == 0;
}

/* Until the agent has had this one, however often it leaves before. */
static void move(struct fixture *f, int i)
{
    bool given = false;

    while (!has_ended(f, i)) {
        if (given && gf_host_observe_flag(&f->returned[i])) {
            given = false;
        }
        if (!given) {
            given = post_pull(f, i);
            gf_agent_invite(f->agent);
        }
        assert_int_equal(gf_agent_collect(f->agent), GF_OK);
    }
    assert_true(has_arrived(f, i));
}

static bool post_stall(struct fixture *f, int table)
{
    struct gf_command command = {
        .kind = GF_COMMAND_ALLREDUCE, .type = GF_UINT32, .op = GF_SUM, .blocks = 1, .table = (uint16_t)table,
        .send = f->seen->from, .recv = f->seen->to[0], .bytes = sizeof(int32_t), .epoch = 1,
    };

    return gf_agent_post(f->agent, &command, &f->returned[0]);
}

/* An agent that has begun with the command that stalls it. */
static void stall(struct fixture *f)
{
    struct gf_one_shot_work work = {
        .task = { .ranks = 2, .abort = &f->seen->abort, .error = &f->seen->error }, .slot_bytes = SLOT_BYTES, .pieces = 1,
        .peers = { { NULL, NULL }, { f->seen->there, f->seen->here } },
    };
    int table;

    assert_int_equal(gf_agent_introduce(f->agent, f->stream, &work, &table, NULL), GF_OK);
    while (!post_stall(f, table)) {
        gf_agent_invite(f->agent);
    }
}

static void go_on(struct fixture *f)
{
    gf_host_publish_flag(&f->shared->abort, 1);
}

static void test_none_before_it_runs(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_false(post_pull(&f, 1));
    assert_int_equal(gf_agent_statistics_of(f.agent).launches, 0);
    move(&f, 1);
    gf_agent_dismiss(f.agent);
    assert_false(post_pull(&f, 2));
    assert_false(has_ended(&f, 2));
    move(&f, 2);
    close_fixture(&f);
}

/* Of the ring one line stays free for who waits. */
static void test_what_fits(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    stall(&f);
    for (int i = 1; i < GF_COMMANDS - 1; i++) {
        assert_true(post_pull(&f, i));
    }
    assert_false(post_pull(&f, GF_COMMANDS - 1));
    assert_false(has_ended(&f, 1));
    go_on(&f);
    for (int i = 1; i < GF_COMMANDS - 1; i++) {
        while (!has_ended(&f, i)) {
            assert_int_equal(gf_agent_collect(f.agent), GF_OK);
            assert_int_equal(gf_host_observe_flag(&f.returned[i]), 0);
        }
        assert_true(has_arrived(&f, i));
    }
    close_fixture(&f);
}

/* It takes the command to leave, and not the two behind it: they come back, and no later agent does them. */
static void test_what_it_leaves_lying(void **state)
{
    struct gf_command leave = { .kind = GF_COMMAND_LEAVE };
    uint32_t ignored;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    stall(&f);
    assert_true(post_pull(&f, 1));
    assert_true(gf_agent_post(f.agent, &leave, &ignored));
    assert_true(post_pull(&f, 2));
    assert_true(post_pull(&f, 3));
    assert_int_equal(gf_agent_collect(f.agent), GF_OK);
    assert_int_equal(gf_host_observe_flag(&f.returned[2]), 0);
    go_on(&f);
    while (!gf_host_observe_flag(&f.returned[2]) || !gf_host_observe_flag(&f.returned[3])) {
        assert_int_equal(gf_agent_collect(f.agent), GF_OK);
    }
    assert_true(has_ended(&f, 1));
    assert_int_equal(gf_host_observe_flag(&f.returned[1]), 0);
    for (int i = 4; i < GF_COMMANDS; i++) {
        move(&f, i);
    }
    assert_false(has_ended(&f, 2) || has_ended(&f, 3) || has_arrived(&f, 2) || has_arrived(&f, 3));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_before_it_runs),
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_what_it_leaves_lying),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
