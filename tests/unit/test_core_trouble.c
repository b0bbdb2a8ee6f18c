/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What core does when something fails while calls run: the same error on all ranks, and never a hang.
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
        cmocka_unit_test(test_killed_peer_is_named),
        cmocka_unit_test(test_abort_from_another_thread),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_one_rank_cannot_go_on),
        cmocka_unit_test(test_refused_calls_harm_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
