/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens when the epochs of LL lines run out. Built with GF_LL_FLAG_BITS = 8, so that this is after 255 pieces; the host
 * side and the kernels of this program are built so (core.mk), everything else is the library's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/comm_private.h"
#include "tests/support/core_comm.h"

_Static_assert(GF_LL_EPOCH_LAST == 255, "this test is for flags of 8 bits");

enum { SECONDS = 240, PIECE_FLOATS = 128 / sizeof(float) };

/* Messages of one piece, of all epochs at once, of more than there are, and of odd numbers of pieces, so that a slot's old lines
 * come from various calls. */
static int sweep_body(struct gftest_rank *rank)
{
    static const size_t pieces[] = { 1, 254, 1, 255, 256, 3, 600, 100, 155, 2, 1, 1, 777 };
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };
    uint64_t all = 0;

    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    config.transport = *(enum gf_force_transport *)rank->argument;
    config.ll_slot_bytes = PIECE_FLOATS * sizeof(float);
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct gftest_allreduce what = {
            .count = pieces[i] * PIECE_FLOATS - i % 3, .type = GF_FLOAT, .op = GF_SUM, .in_place = i % 2, .seed = i,
        };

        GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0);
        GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->pieces == pieces[i]);
        all += pieces[i];
        GFTEST_CHECK(rank, c.comm->one_shot.epochs_left == 254 - (all - 1) % 255, "%u left after %llu",
                     c.comm->one_shot.epochs_left, (unsigned long long)all);
    }
    gftest_barrier(rank);
    gftest_comm_close(&c);
    return 0;
}

/* A full piece by two blocks, single elements by one for the rest of the epochs, and again: the lines of the second block
 * still carry the flag of the full piece, and would be taken for the new one's if nobody cleared them. */
static int stale_body(struct gftest_rank *rank)
{
    struct gf_config config = gftest_config();
    struct gftest_comm c;
    struct gf_reason why = { "" };

    config.algorithm = GF_ALGORITHM_ONE_SHOT;
    config.transport = *(enum gf_force_transport *)rank->argument;
    config.ll_slot_bytes = 8192;
    GFTEST_CHECK(rank, gftest_comm_open(rank, &config, &c, &why) == GF_OK, "%s", why.text);
    for (int cycle = 0; cycle < 3; cycle++) {
        for (int epoch = 1; epoch <= 255; epoch++) {
            struct gftest_allreduce what = {
                .count = epoch == 1 ? 2048 : 1, .type = GF_FLOAT, .op = GF_SUM, .seed = (uint64_t)(cycle * 256 + epoch),
            };

            GFTEST_CHECK(rank, gftest_allreduce(rank, &c, &what) == 0, "cycle %d, epoch %d", cycle, epoch);
            GFTEST_CHECK(rank, gf_comm_last_plan(c.comm)->blocks == (epoch == 1 ? 2 : 1));
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
        for (enum gf_force_transport transport = GF_TRANSPORT_P2P; transport <= GF_TRANSPORT_SHM; transport++) {
            gftest_expect(ranks, sweep_body, &transport, SECONDS);
            gftest_expect(ranks, stale_body, &transport, SECONDS);
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
