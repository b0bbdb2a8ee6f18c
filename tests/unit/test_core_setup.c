/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What core does when something fails while a communicator is set up: the next path, or the same error on all ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/core_comm.h"

enum { SECONDS = 120 };

/* One failure of setting up: what must come out of creating a communicator, and of an allreduce of 500 floats on it. */
struct set_up {
    const char *fault;
    enum gf_force_algorithm asked;
    void (*configure)(int rank, struct gf_config *config);    /* more settings; may be null */
    gf_status created;             /* of gf_comm_create, on all ranks */
    gf_status status;              /* of the allreduce, on all ranks */
    enum gf_algorithm algorithm;   /* of the allreduce */
    const char *reason;            /* part of the sentence, where one is expected */
    const char *warning;           /* part of the last warning, where one is expected, */
    int warned;                    /* on this rank */
};

static int set_up_body(struct gftest_rank *rank)
{
    const struct set_up *s = rank->argument;
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.fault = s->fault;
    config.algorithm = s->asked;
    if (s->configure) {
        s->configure(rank->rank, &config);
    }
    gf_status status = gftest_comm_open(rank, &config, &c, &why);

    GFTEST_CHECK(rank, status == s->created, "%s: %s", gf_status_string(status), why.text);
    if (status == GF_OK) {
        status = gftest_try_allreduce(&c, 500, &why);
        GFTEST_CHECK(rank, status == s->status, "%s: %s", gf_status_string(status), why.text);
        GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->algorithm == s->algorithm, "%s", gf_comm_last_plan(c.comm)->reason);
    }
    GFTEST_CHECK(rank, status == GF_OK || strstr(why.text, s->reason), "%s", why.text);
    if (status == GF_OK) {
        struct gftest_allreduce what = { .count = 500, .type = GF_INT32, .op = GF_SUM, .seed = 3 };

        GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0);
        GFTEST_CHECK(rank, s->warning || c.warnings == 0, "%s", c.warning);
    }
    GFTEST_CHECK(rank, rank->rank != s->warned || !s->warning || strstr(c.warning, s->warning), "%s", c.warning);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void expect_set_up(const char *emulated, struct set_up s)
{
    setenv("GPUFIFO_EMULATED", emulated, 1);
    gftest_expect(3, set_up_body, &s, SECONDS);
    unsetenv("GPUFIFO_EMULATED");
}

static void ask_for_strict(int rank, struct gf_config *config)
{
    (void)rank;
    config->strict = true;
}

static void ask_for_strict_shm(int rank, struct gf_config *config)
{
    (void)rank;
    config->strict = true;
    config->transport = GF_TRANSPORT_SHM;
}

static void test_p2p_falls_back_to_shm(void **state)
{
    static const char *const faults[] = { "ipc_open:1@1", "ipc_export:1@1", "device_alloc:2@1", "ipc_open:1+" };

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        expect_set_up("", (struct set_up){ .fault = faults[i], .asked = GF_ALGORITHM_ONE_SHOT, .algorithm = GF_PLAN_ONE_SHOT,
            .warning = "next is shm", .warned = 1 });
    }
    expect_set_up("", (struct set_up){ .fault = "ipc_open:2@1", .asked = GF_ALGORITHM_RING, .algorithm = GF_PLAN_RING,
        .warning = "next is shm", .warned = 1 });
    expect_set_up("noipc", (struct set_up){ .asked = GF_ALGORITHM_RING, .algorithm = GF_PLAN_RING });
}

static void test_strict_fall_back_is_an_error(void **state)
{
    struct set_up s = { .fault = "ipc_open:1@1", .configure = ask_for_strict, .status = GF_ERR_DEVICE,
        .algorithm = GF_PLAN_ONE_SHOT, .reason = "strict" };

    (void)state;
    expect_set_up("", s);
    s.fault = NULL;
    expect_set_up("noipc", s);
    expect_set_up("noipc", (struct set_up){ .configure = ask_for_strict_shm, .algorithm = GF_PLAN_ONE_SHOT });
    expect_set_up("", (struct set_up){ .configure = ask_for_strict, .algorithm = GF_PLAN_ONE_SHOT });
    s = (struct set_up){ .fault = "launch:1@2", .configure = ask_for_strict, .created = GF_ERR_DEVICE, .reason = "strict" };
    expect_set_up("", s);
}

static void ask_for_ll128(int rank, struct gf_config *config)
{
    (void)rank;
    config->protocol = GF_PROTOCOL_LL128;
}

static void ask_for_strict_ll128(int rank, struct gf_config *config)
{
    ask_for_ll128(rank, config);
    config->strict = true;
}

static void ask_for_ll128_over_shm(int rank, struct gf_config *config)
{
    ask_for_ll128(rank, config);
    config->transport = GF_TRANSPORT_SHM;
}

/* Lines of 128 bytes that do not arrive whole, or nobody knows: LL instead, and it is said why. */
static void test_ll128_only_where_lines_arrive_whole(void **state)
{
    (void)state;
    expect_set_up("", (struct set_up){ .configure = ask_for_ll128, .algorithm = GF_PLAN_LL128 });
    expect_set_up("", (struct set_up){ .configure = ask_for_strict_ll128, .algorithm = GF_PLAN_LL128 });
    expect_set_up("torn", (struct set_up){ .configure = ask_for_ll128, .algorithm = GF_PLAN_ONE_SHOT,
        .warning = "tears lines of 128 bytes" });
    expect_set_up("torn", (struct set_up){ .configure = ask_for_strict_ll128, .status = GF_ERR_DEVICE, .algorithm = GF_PLAN_LL128,
        .reason = "strict: LL128" });
    expect_set_up("", (struct set_up){ .configure = ask_for_ll128_over_shm, .algorithm = GF_PLAN_ONE_SHOT,
        .warning = "may arrive in parts" });
    expect_set_up("noipc", (struct set_up){ .configure = ask_for_ll128, .algorithm = GF_PLAN_ONE_SHOT, .warning = "in parts" });
    expect_set_up("", (struct set_up){ .fault = "ipc_open:1@1", .configure = ask_for_strict_ll128, .status = GF_ERR_DEVICE,
        .algorithm = GF_PLAN_LL128, .reason = "strict" });
}

/* From one path to the next, to staging. With three ranks the first two attachments are the abort pages. */
static void test_paths_in_turn(void **state)
{
    (void)state;
    expect_set_up("", (struct set_up){ .fault = "ipc_open:1@1,attach:3@1", .algorithm = GF_PLAN_RING,
        .warning = "one-shot cannot be used" });
    expect_set_up("noipc", (struct set_up){ .fault = "attach:3+@1", .algorithm = GF_PLAN_HOST,
        .warning = "ring cannot be used" });
    expect_set_up("noipc", (struct set_up){ .fault = "register:1+", .algorithm = GF_PLAN_HOST,
        .warning = "ring cannot be used" });
    expect_set_up("noipc", (struct set_up){ .fault = "attach:3+@1,host_segment:1@2", .status = GF_ERR_UNSUPPORTED,
        .algorithm = GF_PLAN_STAGE,
                                            .reason = "host memory could not be shared", .warning = "host cannot be used" });
    expect_set_up("", (struct set_up){ .fault = "ipc_open:1@1,attach:3@1", .asked = GF_ALGORITHM_ONE_SHOT,
        .status = GF_ERR_UNSUPPORTED,
                                       .algorithm = GF_PLAN_STAGE, .reason = "asked for", .warning = "one-shot cannot be used" });
    /* The third export is that of the second call's buffer. */
    expect_set_up("", (struct set_up){ .asked = GF_ALGORITHM_TWO_SHOT, .algorithm = GF_PLAN_TWO_SHOT });
    expect_set_up("", (struct set_up){ .fault = "ipc_export:3@1", .asked = GF_ALGORITHM_TWO_SHOT, .algorithm = GF_PLAN_TWO_SHOT,
        .warning = "rank 1: the step ipc_export" });
    expect_set_up("", (struct set_up){ .fault = "ipc_open:2@2", .asked = GF_ALGORITHM_TWO_SHOT, .algorithm = GF_PLAN_ONE_SHOT,
        .warning = "rank 2: the memory of rank 0 could not be mapped" });
    expect_set_up("noipc", (struct set_up){ .asked = GF_ALGORITHM_TWO_SHOT, .algorithm = GF_PLAN_ONE_SHOT,
        .warning = "two-shot cannot be used" });
    expect_set_up("", (struct set_up){ .fault = "launch:1@1", .algorithm = GF_PLAN_HOST, .warning = "the host reduces instead" });
}

static void test_creating_fails_alike(void **state)
{
    (void)state;
    expect_set_up("", (struct set_up){ .fault = "segment:1@1", .created = GF_ERR_UNSUPPORTED,
        .reason = "rank 1: the step segment" });
    expect_set_up("", (struct set_up){ .fault = "attach:2@2", .created = GF_ERR_UNSUPPORTED,
        .reason = "rank 2: the step attach" });
    expect_set_up("", (struct set_up){ .fault = "nonsense", .created = GF_ERR_INVALID, .reason = "step:n" });
}

static void differ(int rank, struct gf_config *config)
{
    config->simple_slot_bytes += rank == 2 ? 1024 : 0;
}

static void no_slots(int rank, struct gf_config *config)
{
    config->ll_slot_bytes = rank == 1 ? 0 : config->ll_slot_bytes;
}

static void test_settings_are_checked(void **state)
{
    (void)state;
    expect_set_up("", (struct set_up){ .configure = differ, .created = GF_ERR_UNSUPPORTED,
        .reason = "simple_slot_bytes = 132096" });
    expect_set_up("", (struct set_up){ .configure = no_slots, .created = GF_ERR_INVALID,
        .reason = "rank 1: the setting ll_slot_bytes is 0" });
}

static void test_one_process_at_a_time(void **state)
{
    (void)state;
    expect_set_up("solo", (struct set_up){ .algorithm = GF_PLAN_HOST });
    expect_set_up("solo", (struct set_up){ .asked = GF_ALGORITHM_RING, .algorithm = GF_PLAN_HOST });
    expect_set_up("blocks=2", (struct set_up){ .algorithm = GF_PLAN_HOST });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p2p_falls_back_to_shm),
        cmocka_unit_test(test_strict_fall_back_is_an_error),
        cmocka_unit_test(test_ll128_only_where_lines_arrive_whole),
        cmocka_unit_test(test_paths_in_turn),
        cmocka_unit_test(test_creating_fails_alike),
        cmocka_unit_test(test_settings_are_checked),
        cmocka_unit_test(test_one_process_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
