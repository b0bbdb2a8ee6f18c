/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators whose FIFOs the host copies, in trouble: steps of setting up that fail, copies that fail or are late, a proxy
 * that stalls, ranks that are killed while their proxy is at work, and ends that leave as soon as they may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/core_comm.h"

enum { SECONDS = 120, RANKS = 3, CULPRIT = 1, COUNT = 30000 };

/* What is asked for, what goes wrong, and what comes out of it. */
struct run {
    enum gf_force_transport transport;
    const char *fault;
    uint64_t deadline_ms;
    bool strict;
    enum gf_algorithm algorithm;       /* of the plan in the end */
    gf_status status;                  /* of the call, on all ranks that live */
    const char *reason;                /* part of their sentence, or of a warning on some rank where the call goes well */
};

static struct gf_config config_of(const struct run *run)
{
    struct gf_config config = gftest_config();

    config.transport = run->transport;
    config.fault = run->fault;
    config.deadline_ms = run->deadline_ms;
    config.strict = run->strict;
    config.simple_slot_bytes = 1024;
    return config;
}

static int goes_well(struct gftest_rank *rank, struct gftest_comm *c, const struct run *run)
{
    for (uint64_t i = 0; i < 3; i++) {
        struct gftest_allreduce what = { .count = COUNT + i, .type = GF_INT32, .op = GF_SUM, .seed = i, .in_place = i % 2 };

        if (gftest_allreduce(rank, c, &what) != 0) {
            return 1;
        }
    }
    GFTEST_CHECK(rank, gf_comm_last_plan(c->comm)->algorithm == run->algorithm, "%s", gf_comm_last_plan(c->comm)->reason);
    if (rank->rank == CULPRIT && run->reason) {
        GFTEST_CHECK(rank, strstr(c->warning, run->reason) || strstr(c->path, run->reason), "%s / %s", c->warning, c->path);
    }
    return 0;
}

static int run_body(struct gftest_rank *rank)
{
    const struct run *run = rank->argument;
    struct gf_config config = config_of(run);
    struct gftest_comm c;
    struct gf_reason why = { "" };
    int result = 0;

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    if (run->status == GF_OK) {
        result = goes_well(rank, &c, run);
    } else {
        gf_status status = gftest_try_allreduce(&c, COUNT, &why);

        GFTEST_CHECK(rank, status == run->status, "%s: %s", gf_status_string(status), why.text);
        GFTEST_CHECK(rank, strstr(why.text, run->reason), "%s", why.text);
    }
    if (run->status != GF_OK) {
        gftest_barrier(rank);
    }
    /* After a call that went well each rank leaves at once, whatever the others' proxies still have to do. */
    gftest_comm_close(&c);
    return result;
}

static void expect_run(struct run run)
{
    print_message("%s, fault %s\n", run.transport == GF_TRANSPORT_P2P_COPY ? "p2p_copy" : "shm_copy",
                  run.fault ? run.fault : "none");
    gftest_expect(RANKS, run_body, &run, SECONDS);
}

static const enum gf_force_transport transports[] = { GF_TRANSPORT_P2P_COPY, GF_TRANSPORT_SHM_COPY };

/* Each step of setting up in turn: the setting cannot be had, the host takes over and says why. */
static void test_each_step_may_fail(void **state)
{
    /* With three ranks the first two attachments are the abort pages, and the first segment this rank's own. */
    static const char *const faults[] = { "device_alloc:1@1", "device_alloc:2@1", "proxy:1@1", "proxy:2@1", "segment:2@1",
        "register:1@1", "register:2@1", "attach:3@1" };

    (void)state;
    for (int t = 0; t < 2; t++) {
        for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
            expect_run((struct run){ .transport = transports[t], .fault = faults[f], .algorithm = GF_PLAN_HOST });
        }
        expect_run((struct run){ .transport = transports[t], .fault = "proxy:1@1", .strict = true, .status = GF_ERR_DEVICE,
            .reason = "strict" });
    }
    expect_run((struct run){ .transport = GF_TRANSPORT_P2P_COPY, .fault = "ipc_open:1@1", .algorithm = GF_PLAN_HOST });
    expect_run((struct run){ .transport = GF_TRANSPORT_P2P_COPY, .fault = "ipc_export:1@2", .algorithm = GF_PLAN_HOST });
    expect_run((struct run){ .transport = GF_TRANSPORT_SHM_COPY, .fault = "ipc_open:1+,ipc_export:1+", .algorithm = GF_PLAN_RING,
        .reason = "by shm_copy" });
}

/* One device that makes copies within itself wait for the kernels that run: refused, not tried. Through the host it goes. */
static void test_copies_that_wait_for_kernels(void **state)
{
    (void)state;
    setenv("GPUFIFO_EMULATED", "queued", 1);
    expect_run((struct run){ .transport = GF_TRANSPORT_P2P_COPY, .algorithm = GF_PLAN_HOST });
    expect_run((struct run){ .transport = GF_TRANSPORT_P2P_COPY, .strict = true, .status = GF_ERR_DEVICE,
        .reason = "share one device" });
    expect_run((struct run){ .transport = GF_TRANSPORT_SHM_COPY, .algorithm = GF_PLAN_RING, .reason = "by shm_copy" });
    unsetenv("GPUFIFO_EMULATED");
}

/* A copy fails in the middle: all ranks get the same error, with the rank and the transport. */
static void test_failing_copy_is_told_to_all(void **state)
{
    static const char *const faults[] = { "proxy_copy:1@1", "proxy_copy:9@1", "proxy_copy:50@1" };

    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int f = 0; f < 3; f++) {
            expect_run((struct run){ .transport = transports[t], .fault = faults[f], .status = GF_ERR_DEVICE,
                .reason = t ? "rank 1 failed: a copy of its proxy" : "by p2p_copy" });
        }
    }
}

/* A hiccup costs time only; one that does not end makes a kernel's deadline pass, on all ranks. */
static void test_slow_and_stalled_proxy(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        expect_run((struct run){ .transport = transports[t], .fault = "proxy_stall:4", .algorithm = GF_PLAN_RING });
        expect_run((struct run){ .transport = transports[t], .fault = "proxy_stall:20+@1", .deadline_ms = 1500,
            .status = GF_ERR_TIMEOUT, .reason = "deadline_ms" });
    }
}

static int death_body(struct gftest_rank *rank)
{
    const struct run *run = rank->argument;
    struct gf_config config = config_of(run);
    int32_t pid = getpid(), pids[GFTEST_MAX_RANKS];
    struct gf_reason why = { "" };
    struct gftest_comm c;
    char victim[64];

    rank->bootstrap.allgather(rank->bootstrap.ctx, &pid, pids, sizeof pid);
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    gf_status status = gftest_try_allreduce(&c, COUNT, &why);

    snprintf(victim, sizeof victim, "rank %d (process %d", CULPRIT, (int)pids[CULPRIT]);
    GFTEST_CHECK(rank, status == GF_ERR_PEER, "%s: %s", gf_status_string(status), why.text);
    GFTEST_CHECK(rank, strstr(why.text, victim), "%s", why.text);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

/* Killed by its proxy's thread: before its first copy, with copies under way at both ends, near the end. */
static void test_killed_while_the_proxy_is_at_work(void **state)
{
    static const char *const faults[] = { "kill:proxy_copy:1@1", "kill:proxy_copy:6@1", "kill:proxy_copy:40@1",
                                          "kill:proxy_copy:151@1" };

    (void)state;
    for (int t = 0; t < 2; t++) {
        for (int f = 0; f < 4; f++) {
            struct run run = { .transport = transports[t], .fault = faults[f] };
            struct gftest_end end = gftest_run(RANKS, death_body, &run, SECONDS);

            print_message("%s: killed at %s\n", t ? "shm_copy" : "p2p_copy", faults[f]);
            assert_false(end.timed_out);
            assert_int_equal(end.failed, 0);
            assert_int_equal(end.killed, 1);
        }
    }
}

/* One-shot has no FIFO that the host could copy. */
static int contradiction_body(struct gftest_rank *rank)
{
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.transport = GF_TRANSPORT_SHM_COPY;
    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 10, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, strstr(why.text, "FIFO slots only"), "%s", why.text);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_contradiction_is_told(void **state)
{
    (void)state;
    gftest_expect(2, contradiction_body, NULL, SECONDS);
}

/* With "auto" they are no path, though they would work where p2p and shm have just failed. */
static int unasked_body(struct gftest_rank *rank)
{
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.algorithm = GF_ALGORITHM_RING;
    config.fault = "ipc_open:1@1,attach:3@1";
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 10, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->algorithm == GF_PLAN_STAGE, "%s", gf_comm_last_plan(c.comm)->reason);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_never_by_themselves(void **state)
{
    (void)state;
    gftest_expect(RANKS, unasked_body, NULL, SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_step_may_fail), cmocka_unit_test(test_copies_that_wait_for_kernels),
        cmocka_unit_test(test_failing_copy_is_told_to_all), cmocka_unit_test(test_slow_and_stalled_proxy),
        cmocka_unit_test(test_killed_while_the_proxy_is_at_work), cmocka_unit_test(test_contradiction_is_told),
        cmocka_unit_test(test_never_by_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
