/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce of forked ranks on the emulated device: every algorithm, transport and rank count, sizes round every boundary,
 * random pairs of type and operation; compared to the bit with a scalar reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/connector.h"
#include "tests/support/core_comm.h"
#include "tests/unit/scalar.h"

enum { SECONDS = 240 };

/* One way to go, and what the plan must then say. */
struct way {
    enum gf_force_algorithm algorithm;
    enum gf_force_transport transport;
    enum gf_algorithm expected;
    enum gf_simple_buffer buffer;
    enum gf_force_protocol protocol;
};

static const struct way ways[] = {
    { GF_ALGORITHM_ONE_SHOT, GF_TRANSPORT_P2P, GF_PLAN_ONE_SHOT, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_ONE_SHOT, GF_TRANSPORT_SHM, GF_PLAN_ONE_SHOT, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_P2P, GF_PLAN_RING, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_SHM, GF_PLAN_RING, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_P2P, GF_PLAN_RING, GF_BUFFER_SENDER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_SHM, GF_PLAN_RING, GF_BUFFER_SENDER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_P2P, GF_PLAN_RING, GF_BUFFER_DIRECT_WRITE, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_P2P, GF_PLAN_RING, GF_BUFFER_DIRECT_READ, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_RING, GF_TRANSPORT_P2P_COPY, GF_PLAN_RING, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_AUTO, GF_TRANSPORT_SHM_COPY, GF_PLAN_RING, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_ONE_SHOT, GF_TRANSPORT_P2P, GF_PLAN_LL128, GF_BUFFER_RECEIVER, GF_PROTOCOL_LL128 },
    { GF_ALGORITHM_TWO_SHOT, GF_TRANSPORT_P2P, GF_PLAN_TWO_SHOT, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
    { GF_ALGORITHM_HOST, GF_TRANSPORT_AUTO, GF_PLAN_HOST, GF_BUFFER_RECEIVER, GF_PROTOCOL_AUTO },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static struct gf_config config_of(const struct way *way)
{
    struct gf_config config = gftest_config();

    config.algorithm = way->algorithm;
    config.transport = way->transport;
    config.simple_buffer = way->buffer;
    config.protocol = way->protocol;
    return config;
}

/* Small slots, so that boundaries come early: pieces of 1 KiB of LL data, FIFO slots of 1 KiB, host pieces of 32 KiB. */
static struct gf_config small_slots(const struct way *way)
{
    struct gf_config config = config_of(way);

    config.ll_slot_bytes = 1024;
    config.simple_slot_bytes = 1024;
    return config;
}

static int check_plan(struct gftest_rank *rank, struct gftest_comm *c, const struct way *way, size_t count)
{
    enum gf_algorithm expected = count == 0 ? GF_PLAN_NONE : rank->ranks == 1 ? GF_PLAN_LOCAL : way->expected;
    const struct gf_plan *plan = gf_comm_last_plan(c->comm);

    GFTEST_CHECK(rank, plan->algorithm == expected, "%s: %s", gf_algorithm_name(plan->algorithm), plan->reason);
    return 0;
}

static int sizes_body(struct gftest_rank *rank)
{
    static const size_t counts[] = { 0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 8191, 8192, 8193,
        100003 };
    const struct way *way = rank->argument;
    struct gf_config config = small_slots(way);
    struct gftest_comm c;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct gftest_allreduce what = {
            .count = counts[i], .type = GF_FLOAT, .op = GF_SUM, .offset = i % 5, .in_place = i % 2 != 0, .seed = i + 1,
        };

        if (gftest_allreduce(rank, &c, &what) != 0 || check_plan(rank, &c, way, what.count) != 0) {
            return 1;
        }
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_all_sizes(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 8; ranks++) {
        for (size_t w = 0; w < WAYS; w++) {
            struct way way = ways[w];

            gftest_expect(ranks, sizes_body, &way, SECONDS);
        }
    }
}

static int multi_mib_body(struct gftest_rank *rank)
{
    const struct way *way = rank->argument;
    struct gf_config config = config_of(way);
    struct gftest_comm c;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (int in_place = 0; in_place < 2; in_place++) {
        struct gftest_allreduce what = {
            .count = (9 << 20) / sizeof(double) + 7, .type = GF_DOUBLE, .op = GF_SUM, .in_place = in_place, .seed = 77,
        };

        if (gftest_allreduce(rank, &c, &what) != 0) {
            return 1;
        }
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_several_mib(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAYS; w++) {
        struct way way = ways[w];

        gftest_expect(3, multi_mib_body, &way, SECONDS);
    }
}

struct random_run {
    struct way way;
    uint64_t seed;
    int calls;
};

/* A pair that MPI allows, from *random. */
static void choose_pair(uint64_t *random, enum gf_type *type, enum gf_op *op)
{
    do {
        *type = (enum gf_type)(scalar_random(random) % GF_TYPE_COUNT);
        *op = (enum gf_op)(scalar_random(random) % GF_OP_COUNT);
    } while (!gf_op_allowed(*type, *op));
}

static int random_body(struct gftest_rank *rank)
{
    const struct random_run *run = rank->argument;
    struct gf_config config = small_slots(&run->way);
    uint64_t random = run->seed;
    struct gftest_comm c;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (int i = 0; i < run->calls; i++) {
        struct gftest_allreduce what = { .seed = run->seed + (uint64_t)i };

        choose_pair(&random, &what.type, &what.op);
        what.count = scalar_random(&random) % ((size_t)1 << scalar_random(&random) % 13);
        what.offset = scalar_random(&random) % 4;
        what.in_place = scalar_random(&random) % 2;
        if (gftest_allreduce(rank, &c, &what) != 0) {
            return 1;
        }
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void run_random(const char *emulated, uint64_t seed, int calls)
{
    print_message("GPUFIFO_EMULATED=%s, seed %llu\n", emulated, (unsigned long long)seed);
    setenv("GPUFIFO_EMULATED", emulated, 1);
    for (size_t w = 0; w < WAYS; w++) {
        for (int ranks = 2; ranks <= 4; ranks++) {
            struct random_run run = { ways[w], seed + w * 8 + (uint64_t)ranks, calls };

            gftest_expect(ranks, random_body, &run, SECONDS);
        }
    }
    unsetenv("GPUFIFO_EMULATED");
}

static void test_types_and_operations(void **state)
{
    (void)state;
    run_random("blocks=16", 20261129, 120);
}

static void test_weak_order(void **state)
{
    (void)state;
    run_random("weak,torn,seed=5", 4711, 40);
}

/* The host's pieces small enough that each rank reduces all of them for itself, and many. */
static int small_pieces_body(struct gftest_rank *rank)
{
    struct gf_config config = small_slots(&ways[WAYS - 1]);
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.simple_slot_bytes = 128;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (uint64_t i = 0; i < 10; i++) {
        struct gftest_allreduce what = { .count = 20000 - i, .type = GF_DOUBLE, .op = GF_SUM, .in_place = i % 2, .seed = i };

        if (gftest_allreduce(rank, &c, &what) != 0) {
            return 1;
        }
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_small_pieces_through_the_host(void **state)
{
    (void)state;
    gftest_expect(4, small_pieces_body, NULL, SECONDS);
}

/* The automatic choice changes its algorithm with the size, and comes back: epochs, steps and piece numbers go on. */
static int automatic_body(struct gftest_rank *rank)
{
    static const size_t counts[] = { 1, 100000, 2, 200000, 3, 70000, 4 };
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };
    bool one_shot = false, ring = false;

    config.one_shot_bytes = 128 << 10;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct gftest_allreduce what = { .count = counts[i], .type = GF_INT32, .op = GF_SUM, .seed = i };

        if (gftest_allreduce(rank, &c, &what) != 0) {
            return 1;
        }
        one_shot |= gf_comm_last_plan(c.comm)->algorithm == GF_PLAN_ONE_SHOT;
        ring |= gf_comm_last_plan(c.comm)->algorithm == GF_PLAN_RING;
    }
    GFTEST_CHECK(rank, one_shot && ring);
    GFTEST_CHECK(rank, c.warnings == 0, "%s", c.warning);
    GFTEST_CHECK(rank, c.paths == 4, "%d lines, the last: %s", c.paths, c.path);
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void test_automatic_choice(void **state)
{
    (void)state;
    gftest_expect(4, automatic_body, NULL, SECONDS);
}

/* Two communicators at once, of different settings, do not disturb each other. */
static int two_body(struct gftest_rank *rank)
{
    struct gf_config first = small_slots(&ways[0]), second = small_slots(&ways[3]);
    struct gftest_comm a, b;

    GFTEST_CHECK(rank, gftest_comm_open(rank, &first, &a, NULL) == GF_OK);
    GFTEST_CHECK(rank, gftest_comm_open(rank, &second, &b, NULL) == GF_OK);
    for (uint64_t i = 0; i < 20; i++) {
        struct gftest_allreduce what = { .count = 300 * (size_t)i, .type = GF_INT64, .op = GF_MAX, .seed = i };

        if (gftest_allreduce(rank, i % 2 ? &a : &b, &what) != 0 || gftest_allreduce(rank, i % 2 ? &b : &a, &what) != 0) {
            return 1;
        }
    }
    gftest_comm_close(&a);
    gftest_barrier(rank);
    gftest_comm_close(&b);
    return 0;
}

static void test_two_communicators(void **state)
{
    (void)state;
    gftest_expect(3, two_body, NULL, SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_several_mib),
        cmocka_unit_test(test_types_and_operations),
        cmocka_unit_test(test_weak_order),
        cmocka_unit_test(test_small_pieces_through_the_host),
        cmocka_unit_test(test_automatic_choice),
        cmocka_unit_test(test_two_communicators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
