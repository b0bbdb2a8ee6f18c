/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What core does when something fails: the next path, or the same error on all ranks, and never a hang.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Trouble while a call runs: who does not come along, and how the others' calls end. */
struct trouble {
    enum gf_force_algorithm algorithm;
    uint64_t deadline_ms;
    enum { DIES, STAYS_AWAY, ABORTS, SENDS_NULL, CANNOT_LAUNCH } what;
};
enum { CULPRIT = 1 };

static struct gf_config trouble_config(const struct trouble *t)
{
    struct gf_config config = gftest_config();

    config.algorithm = t->algorithm;
    config.deadline_ms = t->deadline_ms;
    /* The first launch is the trial, the second the call that goes well. */
    config.fault = t->what == CANNOT_LAUNCH ? "launch:3@1" : NULL;
    return config;
}

static void *abort_later(void *comm)
{
    usleep(50000);
    gf_comm_abort(comm, "the test said so");
    return NULL;
}

/* The others' call: all of them see the cause, and see it again in the next call. */
static int be_left(struct gftest_rank *rank, struct gftest_comm *c, gf_status expected, const char *reason)
{
    for (int i = 0; i < 2; i++) {
        struct gf_reason why = { "" };
        gf_status status = gftest_try_allreduce(c, 3000, &why);

        GFTEST_CHECK(rank, status == expected, "%s: %s", gf_status_string(status), why.text);
        GFTEST_CHECK(rank, strstr(why.text, reason), "%s", why.text);
    }
    return 0;
}

static int dies_body(struct gftest_rank *rank)
{
    struct gf_config config = trouble_config(rank->argument);
    struct gftest_comm c;
    int32_t pid = getpid(), pids[GFTEST_MAX_RANKS];
    char reason[64];

    rank->bootstrap.allgather(rank->bootstrap.ctx, &pid, pids, sizeof pid);
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, NULL) == GF_OK);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 3000, NULL) == GF_OK);
    gftest_barrier(rank);
    if (rank->rank == CULPRIT) {
        gftest_die();
    }
    snprintf(reason, sizeof reason, "rank %d (process %d", CULPRIT, (int)pids[CULPRIT]);
    if (be_left(rank, &c, GF_ERR_PEER, reason) != 0) {
        return 1;
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static const enum gf_force_algorithm algorithms[] = { GF_ALGORITHM_ONE_SHOT, GF_ALGORITHM_RING, GF_ALGORITHM_HOST,
                                                        GF_ALGORITHM_TWO_SHOT };
enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

static void test_killed_peer_is_named(void **state)
{
    (void)state;
    for (int a = 0; a < ALGORITHMS; a++) {
        struct trouble t = { .algorithm = algorithms[a], .what = DIES };
        struct gftest_end end = gftest_run(4, dies_body, &t, SECONDS);

        assert_false(end.timed_out);
        assert_int_equal(end.killed, 1);
        assert_int_equal(end.failed, 0);
    }
}

/* The culprit's own part, and the cause that all others must see. */
static int misbehave(struct gftest_rank *rank, struct gftest_comm *c, const struct trouble *t)
{
    struct gf_reason why = { "" };
    pthread_t thread;
    gf_status status;

    switch (t->what) {
    case ABORTS:
        GFTEST_CHECK(rank, pthread_create(&thread, NULL, abort_later, c->comm) == 0);
        status = gftest_try_allreduce(c, 3000, &why);
        pthread_join(thread, NULL);
        GFTEST_CHECK(rank, status == GF_ERR_ABORTED, "%s", gf_status_string(status));
        GFTEST_CHECK(rank, strstr(why.text, "the test said so"), "%s", why.text);
        return 0;
    case SENDS_NULL:
        status = gf_comm_allreduce(c->comm, &(struct gf_comm_buffers){.direct = false}, 3000, GF_FLOAT, GF_SUM, &why);
        GFTEST_CHECK(rank, status == GF_ERR_INVALID && strstr(why.text, "null"), "%s: %s", gf_status_string(status), why.text);
        return 0;
    case CANNOT_LAUNCH:
        status = gftest_try_allreduce(c, 3000, &why);
        GFTEST_CHECK(rank, status == GF_ERR_DEVICE && strstr(why.text, "launch"), "%s: %s", gf_status_string(status), why.text);
        return 0;
    default:
        return 0;
    }
}

/* Rank CULPRIT misbehaves; rank 0 waits for it in a call; all others come only when that call is over. */
static int trouble_body(struct gftest_rank *rank)
{
    const struct trouble *t = rank->argument;
    struct gf_config config = trouble_config(t);
    struct gftest_comm c;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gftest_try_allreduce(&c, 3000, &why) == GF_OK, "%s", why.text);
    gftest_barrier(rank);
    gf_status expected = t->what == STAYS_AWAY ? GF_ERR_TIMEOUT : GF_ERR_ABORTED;
    const char *reason = t->what == STAYS_AWAY ? "deadline_ms" : t->what == ABORTS ? "rank 1 aborted" : "rank 1 failed";
    int result = 0;

    if (rank->rank == 0) {
        result = be_left(rank, &c, expected, reason);
    } else if (rank->rank == CULPRIT) {
        result = misbehave(rank, &c, t);
    }
    gftest_barrier(rank);
    if (rank->rank > CULPRIT) {
        result = be_left(rank, &c, expected, reason);
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return result;
}

static void expect_trouble(struct trouble t)
{
    for (int a = 0; a < ALGORITHMS; a++) {
        t.algorithm = algorithms[a];
        /* The host launches nothing, and two-shot nothing before all have come. */
        if (t.what != CANNOT_LAUNCH || t.algorithm == GF_ALGORITHM_ONE_SHOT || t.algorithm == GF_ALGORITHM_RING) {
            gftest_expect(3, trouble_body, &t, SECONDS);
        }
    }
}

static void test_abort_from_another_thread(void **state)
{
    (void)state;
    expect_trouble((struct trouble){ .what = ABORTS });
}

/* The deadline is long enough for the call that goes well on a machine that is busy with other things. */
static void test_deadline(void **state)
{
    (void)state;
    expect_trouble((struct trouble){ .what = STAYS_AWAY, .deadline_ms = 3000 });
}

static void test_one_rank_cannot_go_on(void **state)
{
    (void)state;
    expect_trouble((struct trouble){ .what = SENDS_NULL });
    expect_trouble((struct trouble){ .what = CANNOT_LAUNCH });
}

/* What is refused on all ranks before anything moves leaves the communicator whole. */
static int refused_body(struct gftest_rank *rank)
{
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };
    struct gftest_allreduce what = { .count = 100, .type = GF_LONG_DOUBLE, .op = GF_SUM, .seed = 1 };
    char bytes[8];
    gf_driver *driver;
    gf_device *device;

    GFTEST_CHECK(rank, gf_driver_open("emulated", &driver, &why) == GF_OK && gf_device_open(driver, 0, &device, &why) == GF_OK);
    device->caps.host_types = rank->rank != 1;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_comm_allreduce(c.comm, &(struct gf_comm_buffers){.send = bytes, .recv = bytes}, 2, GF_FLOAT, GF_BAND,
                                         &why) == GF_ERR_INVALID);
    GFTEST_CHECK(rank, gf_comm_allreduce(c.comm, &(struct gf_comm_buffers){.send = bytes, .recv = bytes}, SIZE_MAX / 2, GF_FLOAT,
                                         GF_SUM, &why) == GF_ERR_INVALID);
    GFTEST_CHECK(rank, gf_comm_allreduce(c.comm, &(struct gf_comm_buffers){.direct = false}, 0, GF_FLOAT, GF_SUM, &why) == GF_OK);
    GFTEST_CHECK(rank, gf_comm_allreduce(c.comm, &(struct gf_comm_buffers){.send = bytes, .recv = bytes}, 100, GF_LONG_DOUBLE,
                                         GF_SUM, &why) == GF_ERR_UNSUPPORTED);
    GFTEST_CHECK(rank, strstr(why.text, "no arithmetic"), "%s", why.text);
    what.type = GF_DOUBLE;
    GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    gf_device_close(device);
    return 0;
}

static void test_refused_calls_harm_nothing(void **state)
{
    (void)state;
    gftest_expect(2, refused_body, NULL, SECONDS);
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
        cmocka_unit_test(test_killed_peer_is_named),
        cmocka_unit_test(test_abort_from_another_thread),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_one_rank_cannot_go_on),
        cmocka_unit_test(test_refused_calls_harm_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
