/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduces of forked ranks by their agents: agents that stay, that leave all the time, that only some ranks have, that two
 * communicators and two threads share, whose peers do not come. Compared to the bit with a scalar reference.
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
#include "tests/unit/scalar.h"

enum { SECONDS = 120 };

/* One run of random calls. */
struct run {
    const char *emulated;
    enum gf_force_transport transport;
    enum gf_agent_use use;
    uint32_t us;
    int calls, without;            /* this rank has no agent; -1: all have one */
    uint64_t seed;
    int blocks;                    /* of the agents; 0: one */
    bool hasty;                    /* odd ranks have no patience with an agent that does not run at once */
};

static struct gf_config config_of(const struct run *run)
{
    struct gf_config config = gftest_config();

    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    config.transport = run->transport;
    config.ll_slot_bytes = run->blocks > 1 ? 32768 : 8192;
    config.agent = run->use;
    config.agent_us = run->us;
    config.agent_blocks = run->blocks > 0 ? run->blocks : 1;
    return config;
}

static void choose(struct gftest_allreduce *what, uint64_t *random)
{
    what->seed = scalar_random(random);
    do {
        what->type = (enum gf_type)(scalar_random(random) % GF_TYPE_COUNT);
        what->op = (enum gf_op)(scalar_random(random) % GF_OP_COUNT);
    } while (!gf_op_allowed(what->type, what->op));
    what->count = 1 + scalar_random(random) % ((size_t)1 << scalar_random(random) % 11);
    what->offset = scalar_random(random) % 4;
    what->in_place = scalar_random(random) % 2;
}

static int check_statistics(struct gftest_rank *rank, const struct gftest_comm *c)
{
    if (!c->agent) {
        return 0;
    }
    struct gf_agent_statistics s = gf_agent_statistics_of(c->agent);

    GFTEST_CHECK(rank, s.commands + s.refused > 0 && s.launches > 0);
    return 0;
}

static int random_body(struct gftest_rank *rank)
{
    const struct run *run = rank->argument;
    struct gf_config config = config_of(run);
    struct gftest_comm base, c;
    struct gf_reason why = { "" };
    uint64_t random = run->seed;

    config.agent_start_us = run->hasty && rank->rank % 2 ? 0 : config.agent_start_us;
    setenv("GPUFIFO_EMULATED", run->emulated, 1);
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &base, &why) == GF_OK, "%s", why.text);
    if (rank->rank == run->without) {
        gf_comm_destroy(base.comm);
        gf_agent_destroy(base.agent);
        base.comm = NULL;
        base.agent = NULL;
    }
    GFTEST_CHECK(rank, gftest_comm_join(rank, &config, &base, &c, &why) == GF_OK, "%s", why.text);
    for (int i = 0; i < run->calls; i++) {
        struct gftest_allreduce what = { .count = 1 };

        choose(&what, &random);
        if (gftest_allreduce(rank, &c, &what) != 0) {
            return 1;
        }
    }
    GFTEST_CHECK(rank, c.warnings == 0, "%s", c.warning);
    if (check_statistics(rank, &c) != 0) {
        return 1;
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    gftest_comm_close(&base);
    return 0;
}

static void test_it_stays(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++) {
        for (int transport = GF_TRANSPORT_P2P; transport <= GF_TRANSPORT_SHM; transport++) {
            struct run run = { "", (enum gf_force_transport)transport, GF_AGENT_FIXED, 60000, 60, -1, 11 + (uint64_t)ranks, 0,
                               false };

            gftest_expect(ranks, random_body, &run, SECONDS);
        }
    }
}

static void test_it_leaves_all_the_time(void **state)
{
    static const uint32_t us[] = { 1, 30, 300 };

    (void)state;
    for (size_t i = 0; i < sizeof us / sizeof us[0]; i++) {
        struct run run = { "weak", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, us[i], 60, -1, 100 + i, 0, false };

        gftest_expect(3, random_body, &run, SECONDS);
    }
}

static void test_late_stores_and_teams(void **state)
{
    struct run weak = { "weak,torn,seed=9", GF_TRANSPORT_P2P, GF_AGENT_FIXED, 5000, 80, -1, 21, 0, false };
    struct run team = { "weak,team=3", GF_TRANSPORT_SHM, GF_AGENT_FIXED, 2000, 30, -1, 22, 0, false };
    struct run tuned = { "weak", GF_TRANSPORT_P2P, GF_AGENT_AUTO, 0, 80, -1, 23, 0, false };

    (void)state;
    gftest_expect(4, random_body, &weak, SECONDS);
    gftest_expect(2, random_body, &team, SECONDS);
    gftest_expect(3, random_body, &tuned, SECONDS);
}

static void test_several_blocks(void **state)
{
    struct run weak = { "weak,blocks=32", GF_TRANSPORT_P2P, GF_AGENT_FIXED, 5000, 60, -1, 51, 3, false };
    struct run many = { "blocks=64,team=2", GF_TRANSPORT_SHM, GF_AGENT_FIXED, 300, 30, -1, 52, 16, false };

    (void)state;
    gftest_expect(3, random_body, &weak, SECONDS);
    gftest_expect(2, random_body, &many, SECONDS);
}

/* What the host stores and loads in an agent's place is the same as what the agent does. */
static void test_ranks_that_play(void **state)
{
    (void)state;
    for (int transport = GF_TRANSPORT_P2P; transport <= GF_TRANSPORT_SHM; transport++) {
        struct run run = { "weak", (enum gf_force_transport)transport, GF_AGENT_FIXED, 1, 40, -1, 61 + (uint64_t)transport,
                           0, true };

        gftest_expect(3, random_body, &run, SECONDS);
    }
}

/* What the agent stores and what a launch stores is the same. */
static void test_ranks_with_and_without(void **state)
{
    (void)state;
    for (int without = 0; without < 3; without++) {
        struct run run = { "weak", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, 3000, 40, without, 31 + (uint64_t)without, 0, false };

        gftest_expect(3, random_body, &run, SECONDS);
    }
}

/* Calls in a row, with nothing in between that waits for the device: the agent is there, or just leaves when the next comes. */
static int row_body(struct gftest_rank *rank)
{
    enum { CALLS = 200 };
    const struct run *run = rank->argument;
    struct gf_config config = config_of(run);
    struct gftest_comm c;
    struct gf_reason why = { "" };
    void *data;
    double value = 1.0, power = 1.0;

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    GFTEST_CHECK(rank, gf_device_alloc(c.device, sizeof value, &data, &why) == GF_OK);
    GFTEST_CHECK(rank, gf_device_copy(c.device, c.stream, data, &value, sizeof value) == GF_OK);
    GFTEST_CHECK(rank, gf_device_stream_sync(c.device, c.stream) == GF_OK);
    for (int i = 0; i < CALLS; i++) {
        const struct gf_comm_buffers buffers = { .send = data, .recv = data };

        GFTEST_CHECK(rank, gf_comm_allreduce(c.comm, &buffers, 1, GF_DOUBLE, GF_SUM, &why) == GF_OK, "%s", why.text);
        power *= rank->ranks;
    }
    GFTEST_CHECK(rank, run->us < GF_AGENT_US_MOST || gf_agent_statistics_of(c.agent).launches < CALLS / 2);
    GFTEST_CHECK(rank, strstr(c.path, "by the agent") != NULL, "%s", c.path);
    GFTEST_CHECK(rank, gf_device_copy(c.device, c.stream, &value, data, sizeof value) == GF_OK);
    GFTEST_CHECK(rank, gf_device_stream_sync(c.device, c.stream) == GF_OK);
    GFTEST_CHECK(rank, value == power, "%g", value);
    struct gf_agent_statistics s = gf_agent_statistics_of(c.agent);
    GFTEST_CHECK(rank, s.commands + s.refused == CALLS, "%llu commands", (unsigned long long)s.commands);
    gftest_barrier(rank);
    gf_device_free(c.device, data);
    gftest_comm_close(&c);
    return 0;
}

static void test_calls_in_a_row(void **state)
{
    (void)state;
    for (uint32_t us = 1; us < 200; us *= 6) {
        struct run leaves = { "", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, us, 0, -1, 0, 0, false };

        gftest_expect(2, row_body, &leaves, SECONDS);
    }
    struct run stays = { "", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, GF_AGENT_US_MOST, 0, -1, 0, 0, false };

    gftest_expect(2, row_body, &stays, SECONDS);
}

/* Two communicators on one agent, and large messages in between that go round the ring. */
static int two_body(struct gftest_rank *rank)
{
    const struct run run = { "weak", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, 3000, 0, -1, 0, 0, false };
    struct gf_config config = config_of(&run);
    struct gftest_comm a, b;
    uint64_t random = 77;

    config.algorithm = GF_ALGORITHM_AUTO;
    config.one_shot_bytes = 4096;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &a, NULL) == GF_OK);
    for (int round = 0; round < 4; round++) {
        GFTEST_CHECK(rank, gftest_comm_join(rank, &config, &a, &b, NULL) == GF_OK);
        for (int i = 0; i < 12; i++) {
            struct gftest_allreduce what = { .count = 1 };

            choose(&what, &random);
            what.count = i % 5 == 4 ? 5000 : 1 + what.count % 100;
            if (gftest_allreduce(rank, i % 3 ? &a : &b, &what) != 0) {
                return 1;
            }
        }
        gftest_barrier(rank);
        gftest_comm_close(&b);
    }
    GFTEST_CHECK(rank, gf_agent_statistics_of(a.agent).commands > 0);
    gftest_comm_close(&a);
    return 0;
}

static void test_two_communicators(void **state)
{
    (void)state;
    gftest_expect(3, two_body, NULL, SECONDS);
}

/* A thread that calls on one communicator while the main thread calls on the other: the agent of a rank may be busy with an
 * operation whose peers are in the other one. */
struct caller {
    struct gftest_rank *rank;
    struct gftest_comm *comm;
    int result;
};

static void *call(void *argument)
{
    struct caller *caller = argument;

    for (uint64_t i = 0; i < 40 && caller->result == 0; i++) {
        struct gftest_allreduce what = { .count = 1 + i, .type = GF_INT64, .op = GF_SUM, .seed = i };

        caller->result = gftest_allreduce(caller->rank, caller->comm, &what);
    }
    return NULL;
}

static int threads_body(struct gftest_rank *rank)
{
    const struct run run = { "", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, 500, 0, -1, 0, 0, false };
    struct gf_config config = config_of(&run);
    struct gftest_allreduce first = { .count = 3, .type = GF_INT32, .op = GF_SUM, .seed = 1 };
    struct gftest_comm a, b;
    pthread_t thread;

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &a, NULL) == GF_OK);
    GFTEST_CHECK(rank, gftest_comm_join(rank, &config, &a, &b, NULL) == GF_OK);
    GFTEST_CHECK(rank, gf_device_stream_create(b.device, &b.stream, NULL) == GF_OK);
    a.keeps = b.keeps = true;
    if (gftest_allreduce(rank, &a, &first) != 0 || gftest_allreduce(rank, &b, &first) != 0) {
        return 1;
    }
    struct caller other = { rank, rank->rank % 2 ? &a : &b, 0 }, own = { rank, rank->rank % 2 ? &b : &a, 0 };

    GFTEST_CHECK(rank, pthread_create(&thread, NULL, call, &other) == 0);
    call(&own);
    pthread_join(thread, NULL);
    GFTEST_CHECK(rank, own.result == 0 && other.result == 0);
    gftest_barrier(rank);
    gf_device_stream_destroy(b.device, b.stream);
    gftest_comm_close(&b);
    gftest_comm_close(&a);
    return 0;
}

static void test_two_threads(void **state)
{
    (void)state;
    gftest_expect(2, threads_body, NULL, SECONDS);
}

/* Rank 1 does not come to the second call; its peers get an error, and the agent serves another communicator. The deadline is
 * long enough for the first call on a machine that is busy with other things. */
static int missing_body(struct gftest_rank *rank)
{
    const struct run run = { "", GF_TRANSPORT_AUTO, GF_AGENT_FIXED, 20000, 0, -1, 0, 0, false };
    struct gf_config config = config_of(&run), patient = config;
    struct gftest_allreduce first = { .count = 5, .type = GF_FLOAT, .op = GF_SUM, .seed = 3 };
    struct gftest_comm a, b;
    struct gf_reason why = { "" };

    config.deadline_ms = 3000;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &patient, &b, NULL) == GF_OK);
    GFTEST_CHECK(rank, gftest_comm_join(rank, &config, &b, &a, NULL) == GF_OK);
    if (gftest_allreduce(rank, &b, &first) != 0 || gftest_allreduce(rank, &a, &first) != 0) {
        return 1;
    }
    if (rank->rank != 1) {
        gf_status status = gftest_try_allreduce(&a, 5, &why);

        GFTEST_CHECK(rank, status == GF_ERR_TIMEOUT || status == GF_ERR_ABORTED, "%s: %s", gf_status_string(status), why.text);
        GFTEST_CHECK(rank, strstr(why.text, "deadline_ms") != NULL, "%s", why.text);
    }
    gftest_barrier(rank);
    if (gftest_allreduce(rank, &b, &first) != 0) {
        return 1;
    }
    gftest_comm_close(&a);
    gftest_barrier(rank);
    gftest_comm_close(&b);
    return 0;
}

static void test_a_peer_that_does_not_come(void **state)
{
    (void)state;
    gftest_expect(3, missing_body, NULL, SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_stays),
        cmocka_unit_test(test_it_leaves_all_the_time),
        cmocka_unit_test(test_late_stores_and_teams),
        cmocka_unit_test(test_several_blocks),
        cmocka_unit_test(test_ranks_that_play),
        cmocka_unit_test(test_ranks_with_and_without),
        cmocka_unit_test(test_calls_in_a_row),
        cmocka_unit_test(test_two_communicators),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_a_peer_that_does_not_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
