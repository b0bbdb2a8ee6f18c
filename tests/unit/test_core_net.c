/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators whose ranks are processes on several nodes, which here are names on one machine: real kernels of the emulated
 * device, the net transport and the soft wire. What goes well, what breaks under way, and ends that leave as soon as they may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/core_comm.h"
#include "tests/support/soft_wire.h"
#include "transport/net.h"
#include "transport/net_buffers.h"
#include "transport/transport.h"

enum { SECONDS = 120, CULPRIT = 1, COUNT = 30000 };

static const struct gf_wire_ops *const wires[] = { &gftest_soft_wire, NULL };

struct run {
    const char *nodes;                 /* a letter a rank */
    int group;
    int other_group;                   /* of the culprit, if not 0 */
    int other_adapters;                /* likewise */
    enum gf_choice device_memory, zero_copy;
    enum gftest_soft_kind drop;        /* by the culprit's wire */
    uint32_t drop_at;                  /* 0: never */
    gf_status status;                  /* of a call, on all ranks */
    const char *reason;                /* part of their sentence */
};

static int goes_well(struct gftest_rank *rank, struct gftest_comm *c)
{
    for (uint64_t i = 0; i < 4; i++) {
        struct gftest_allreduce what = { .count = i * i * COUNT / 9 + i, .type = GF_INT32, .op = GF_SUM, .seed = i,
                                         .in_place = i % 2 };

        if (gftest_allreduce(rank, c, &what) != 0) {
            return 1;
        }
    }
    GFTEST_CHECK(rank, gf_comm_last_plan(c->comm)->algorithm == GF_PLAN_RING, "%s", gf_comm_last_plan(c->comm)->reason);
    GFTEST_CHECK(rank, c->warnings == 0, "%s", c->warning);
    return 0;
}

/* The buffers of a call that failed are the program's again. */
static int goes_wrong(struct gftest_rank *rank, struct gftest_comm *c, struct gf_net *net, const struct run *run)
{
    struct gf_reason why = { "" };
    gf_status status = GF_OK;

    for (int i = 0; i < 20 && status == GF_OK; i++) {
        status = gftest_try_allreduce(c, COUNT, &why);
    }
    GFTEST_CHECK(rank, status == run->status, "%s: %s", gf_status_string(status), why.text);
    GFTEST_CHECK(rank, strstr(why.text, run->reason), "%s", why.text);
    GFTEST_CHECK(rank, gf_net_buffers_count(gf_net_buffers_of(net), true) == 0, "the wire has not let go of a buffer");
    gftest_barrier(rank);
    return 0;
}

static int run_body(struct gftest_rank *rank)
{
    const struct run *run = rank->argument;
    bool odd = rank->rank == CULPRIT && run->other_group > 0;
    struct gf_net_config net_config = { .wires = wires, .group = odd ? run->other_group : run->group,
                                        .device_memory = run->device_memory, .zero_copy = run->zero_copy };
    struct gf_config config = gftest_config();
    struct gf_reason why = { "" };
    struct gftest_comm c;
    struct gf_net *net;
    gf_driver *driver;
    gf_device *device;

    gftest_soft_wants = (struct gftest_soft_wants){ .seed = 4000 + (uint64_t)rank->rank };
    gftest_soft_wants.adapters = rank->rank == CULPRIT ? run->other_adapters : 0;
    gftest_soft_wants.drop[run->drop] = rank->rank == CULPRIT ? run->drop_at : 0;
    config.node[0] = run->nodes[rank->rank];
    config.net = GF_NET_ANY;
    config.simple_slot_bytes = 1024;
    GFTEST_CHECK(rank, gf_driver_open("emulated", &driver, &why) == GF_OK && gf_device_open(driver, 0, &device, &why) == GF_OK,
                 "%s", why.text);
    GFTEST_CHECK(rank, gf_net_create(&net_config, device, &net, &why) == GF_OK, "%s", why.text);
    gf_status status = gftest_comm_open_over(rank, &config, gf_transports, net, gf_net_adapters(net), &c, &why);

    GFTEST_CHECK(rank, status == GF_OK, "%s", why.text);
    int result = run->status == GF_OK ? goes_well(rank, &c) : goes_wrong(rank, &c, net, run);

    /* After calls that went well each rank leaves at once, whatever the others' proxies still have to do. */
    gftest_comm_close(&c);
    gf_net_destroy(net);
    gf_device_close(device);
    return result;
}

static void expect_run(struct run run)
{
    static const char *const zero_copy[] = { "auto", "yes", "no" };

    print_message("nodes %s, %d a lane, zero-copy %s\n", run.nodes, run.group, zero_copy[run.zero_copy]);
    gftest_expect((int)strlen(run.nodes), run_body, &run, SECONDS);
}

static void test_rings(void **state)
{
    (void)state;
    expect_run((struct run){ .nodes = "ab", .group = 1 });
    expect_run((struct run){ .nodes = "ab", .group = 1, .zero_copy = GF_CHOICE_NO });
    expect_run((struct run){ .nodes = "abc", .group = 2 });
    expect_run((struct run){ .nodes = "aab", .group = 8, .device_memory = GF_CHOICE_NO });
    expect_run((struct run){ .nodes = "aab", .group = 8, .device_memory = GF_CHOICE_NO, .zero_copy = GF_CHOICE_YES });
    setenv("GPUFIFO_EMULATED", "weak", 1);
    expect_run((struct run){ .nodes = "abc", .group = 1, .device_memory = GF_CHOICE_NO });
    expect_run((struct run){ .nodes = "abcd", .group = 1 });
    unsetenv("GPUFIFO_EMULATED");
}

/* All ranks get the same error, those that have no part in the broken lane too. */
static void test_broken_lanes(void **state)
{
    static const char dropped[] = "soft wire: the test has dropped the lane";

    (void)state;
    for (int group = 1; group <= 2; group++) {
        expect_run((struct run){ .nodes = "abc", .group = group, .drop = GFTEST_SOFT_NOTIFY, .drop_at = 11, .status = GF_ERR_PEER,
            .reason = dropped });
        expect_run((struct run){ .nodes = "aabb", .group = group, .drop = GFTEST_SOFT_NOTIFY, .drop_at = 80,
            .status = GF_ERR_PEER, .reason = dropped });
        expect_run((struct run){ .nodes = "abc", .group = group, .drop = GFTEST_SOFT_LINES, .drop_at = 1, .status = GF_ERR_PEER,
            .reason = dropped });
    }
}

/* Ranks that do not agree are not connected. */
static void test_disagreement(void **state)
{
    (void)state;
    expect_run((struct run){ .nodes = "abc", .group = 1, .other_group = 2, .status = GF_ERR_UNSUPPORTED,
        .reason = "between nodes there is the ring alone, and the ring could not be connected" });
}

/* Lanes go by the adapters that both ends have: any other might be on a network of its own. */
static void test_unequal_adapters(void **state)
{
    (void)state;
    expect_run((struct run){ .nodes = "ab", .group = 1, .other_adapters = 1 });
    expect_run((struct run){ .nodes = "abca", .group = 2, .other_adapters = 1 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings), cmocka_unit_test(test_broken_lanes), cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_unequal_adapters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
