/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens when the epochs of LL and LL128 lines run out. Built with GF_LL_FLAG_BITS = 8, so that this is after 255 pieces;
 * the host side and the kernels of this program are built so (core.mk), everything else is the library's.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/comm_private.h"
#include "tests/support/core_comm.h"

_Static_assert(GF_LL_EPOCH_LAST == 255, "this test is for flags of 8 bits");

enum { SECONDS = 240 };

/* One kind of lines over one transport, and what test needs of it. */
struct way {
    enum gf_force_transport transport;
    enum gf_force_protocol protocol;
    size_t two_blocks_bytes;           /* an ll_slot_bytes of which a full slot is work for two blocks */
    enum gf_agent_use agent;           /* FIXED: what has one piece goes to an agent, whose commands run out of flags, too */
};

static const struct way ways[] = {
    { GF_TRANSPORT_P2P, GF_PROTOCOL_LL, 8192, GF_AGENT_OFF }, { GF_TRANSPORT_SHM, GF_PROTOCOL_LL, 8192, GF_AGENT_OFF },
    { GF_TRANSPORT_P2P, GF_PROTOCOL_LL128, 16384, GF_AGENT_OFF }, { GF_TRANSPORT_P2P, GF_PROTOCOL_LL, 8192, GF_AGENT_FIXED },
};

static struct gf_config config_of(const struct way *way, size_t slot_bytes)
{
    struct gf_config config = gftest_config();

    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    config.transport = way->transport;
    config.protocol = way->protocol;
    config.ll_slot_bytes = slot_bytes;
    config.agent = way->agent;
    config.agent_us = 1000;
    return config;
}

static size_t piece_floats(const struct gf_config *config)
{
    return gf_plan_slot(config, config->protocol == GF_PROTOCOL_LL128 ? GF_PLAN_LL128 : GF_PLAN_ONE_SHOT).data / sizeof(float);
}

static const struct gf_one_shot *slots_of(const struct gftest_comm *c)
{
    return c->comm->config.protocol == GF_PROTOCOL_LL128 ? &c->comm->ll128 : &c->comm->one_shot;
}

/* Messages of one piece, of all epochs at once, of more than there are, and of odd numbers of pieces, so that a slot's old lines
 * come from various calls. */
static int sweep_body(struct gftest_rank *rank)
{
    static const size_t pieces[] = { 1, 254, 1, 255, 256, 3, 600, 100, 155, 2, 1, 1, 777 };
    struct gf_config config = config_of(rank->argument, 128);
    struct gftest_comm c;
    struct gf_reason why = { "" };
    uint64_t all = 0;

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct gftest_allreduce what = {
            .count = pieces[i] * piece_floats(&config) - i % 3, .type = GF_FLOAT, .op = GF_SUM, .in_place = i % 2, .seed = i,
        };

        GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0);
        GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->pieces == pieces[i]);
        all += pieces[i];
        GFTEST_CHECK(rank, slots_of(&c)->epochs_left == 254 - (all - 1) % 255, "%u left after %llu",
                     slots_of(&c)->epochs_left, (unsigned long long)all);
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

/* The peers of rank 0 come late, so that it finds what there is. */
static void dawdle(const struct gftest_rank *rank)
{
    for (int i = 0; i < 200 && rank->rank > 0; i++) {
        sched_yield();
    }
}

/* A full piece by two blocks, single elements by one for the other epochs, and again: the lines of the second block still carry
 * the flag of the full piece, and would be taken for the new one's if nobody cleared them. In the first epoch's call all meet. */
static int stale_body(struct gftest_rank *rank)
{
    enum { FULL = 2 };
    const struct way *way = rank->argument;
    struct gf_config config = config_of(way, way->two_blocks_bytes);
    struct gftest_comm c;
    struct gf_reason why = { "" };

    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (int cycle = 0; cycle < 3; cycle++) {
        for (int epoch = 1; epoch <= 255; epoch++) {
            struct gftest_allreduce what = {
                .count = epoch == FULL ? piece_floats(&config) : 1, .type = GF_FLOAT, .op = GF_SUM,
                .seed = (uint64_t)(cycle * 256 + epoch),
            };

            if (epoch == FULL) {
                dawdle(rank);
            }
            GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0, "cycle %d, epoch %d", cycle, epoch);
            GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->blocks == (epoch == FULL ? 2 : 1));
        }
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

static void run_sweeps(const char *emulated)
{
    setenv("GPUFIFO_EMULATED", emulated, 1);
    for (int ranks = 2; ranks <= 4; ranks++) {
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            struct way way = ways[w];

            gftest_expect(ranks, sweep_body, &way, SECONDS);
            if (way.agent == GF_AGENT_OFF || ranks == 2) {    /* else its block leaves none for a second one */
                gftest_expect(ranks, stale_body, &way, SECONDS);
            }
        }
    }
    unsetenv("GPUFIFO_EMULATED");
}

static void test_epochs_begin_again(void **state)
{
    (void)state;
    run_sweeps("");
}

static void test_epochs_begin_again_in_weak_order(void **state)
{
    (void)state;
    run_sweeps("weak,seed=3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_begin_again),
        cmocka_unit_test(test_epochs_begin_again_in_weak_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
