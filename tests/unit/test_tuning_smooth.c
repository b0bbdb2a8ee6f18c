/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is chosen has no cliffs as long as what is measured has none: between neighbouring sizes, of which the larger is at most
 * twice the smaller, the predicted time of the chosen path neither falls nor rises beyond proportion by more than a fifth. For
 * the table built in and for random ones, for all the numbers of ranks that they tell of. And choices are pure: the same again,
 * in any order.
 *
 * Usage: test_tuning_smooth [SEED]
 */
#include "core/tuning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "bench/cliffs.h"
#include "core/tuner.h"
#include "tests/unit/plan_input.h"

enum { TABLES = 100, CALLS = 2000, SIZES_MOST = 200, ROWS_MOST = 128, POINTS = 6 };

static uint64_t seed = 1;

static uint64_t draw(uint64_t *state)
{
    return gf_random_next(state) >> 32;
}

/* What the plan's path is expected to take: by the figures that the choice goes by. */
static double predicted(const struct gf_config *config, const struct gf_plan_input *input, const struct gf_plan *plan)
{
    const struct gf_tuning *tuning = config->tuning ? config->tuning : &gf_tuning_default;
    enum gf_topology topology = !input->kernels_may_wait ? GF_TOPOLOGY_TURNS
                                : input->shared ? GF_TOPOLOGY_SHARED : GF_TOPOLOGY_DEVICES;
    const struct gf_tuner_launch launch = { topology, input->ranks, input->blocks, config->ll_slot_bytes };
    size_t bytes = input->count * gf_type_size(input->type);
    struct gf_tuner_expected expected = gf_tuner_expect(tuning, &launch, false, bytes);

    return plan->algorithm == GF_PLAN_ONE_SHOT ? expected.one_shot_us
           : plan->algorithm == GF_PLAN_RING   ? expected.ring_us
           : gf_tuning_figure(tuning, topology, input->ranks, plan->algorithm, bytes).us;
}

/* Sizes from 8 bytes to 1 GiB: powers of two, in between, and around where the plan changes. */
static int choose_sizes(const struct gf_config *config, struct gf_plan_input *input, size_t *sizes)
{
    enum gf_algorithm before = GF_PLAN_NONE;
    int count = 0;

    for (size_t bytes = 8; bytes <= (size_t)1 << 30; bytes += (bytes & -bytes) == bytes ? bytes / 2 : bytes / 3) {
        input->count = bytes;
        enum gf_algorithm now = plan_of(config, input).algorithm;

        if (count > 0 && now != before) {
            size_t low = sizes[count - 1], high = bytes;

            while (high - low > 1) {
                input->count = (low + high) / 2;
                *(plan_of(config, input).algorithm == before ? &low : &high) = input->count;
            }
            sizes[count++] = low;
            sizes[count++] = high;
        }
        before = now;
        if (count == 0 || sizes[count - 1] < bytes) {
            sizes[count++] = bytes;
        }
        assert_true(count + 3 <= SIZES_MOST);
    }
    return count;
}

static void check_smooth(const struct gf_config *config, struct gf_plan_input *input, const char *what)
{
    size_t sizes[SIZES_MOST];
    int count = choose_sizes(config, input, sizes);
    double before = 0;

    for (int i = 0; i < count; i++) {
        input->count = sizes[i];
        struct gf_plan plan = plan_of(config, input);
        double us = predicted(config, input, &plan);

        if (us <= 0 || (i > 0 && cliff_between(sizes[i - 1], before, sizes[i], us) != CLIFF_NONE)) {
            fail_msg("%s, seed %llu, %d ranks, %d blocks: %zu bytes take %.1f us, %zu bytes %.1f us: %s", what,
                     (unsigned long long)seed, input->ranks, input->blocks, i > 0 ? sizes[i - 1] : 0, before, sizes[i], us,
                     plan.reason);
        }
        before = us;
    }
}

static struct gf_plan_input input_of(int ranks, int blocks, bool shared, bool mapped)
{
    struct gf_plan_input input = default_input(1);

    input.type = GF_INT8;
    input.ranks = ranks;
    input.blocks = blocks;
    input.shared = shared;
    input.unavailable = mapped ? 0 : 1u << GF_PLAN_TWO_SHOT;
    return input;
}

/* With the settings' defaults (mca_coll_gpufifo/params.c), for the ranks that it tells of. */
static void test_the_table_built_in_is_smooth(void **state)
{
    struct gf_config config = default_config();
    (void)state;

    config.one_shot_bytes = 512 << 10;
    for (int ranks = 2; ranks <= 8; ranks++) {
        for (int kind = 0; kind < 4; kind++) {
            struct gf_plan_input input = input_of(ranks, 33, kind & 1, kind & 2);

            check_smooth(&config, &input, "the table built in");
        }
    }
}

/* What an algorithm takes on so many ranks: more for more bytes, but not beyond proportion. */
static size_t draw_rows(uint64_t *random, enum gf_topology topology, int ranks, enum gf_algorithm algorithm,
                        struct gf_tuning_row *rows)
{
    size_t bytes = 8 + draw(random) % 100;
    double us = 5 + (double)(draw(random) % 1000) / 10;

    for (size_t i = 0; i < POINTS; i++) {
        size_t next = bytes * (2 + draw(random) % 60);
        double most = us * ((double)next / (double)bytes - 1);

        rows[i] = (struct gf_tuning_row){ topology, ranks, algorithm, bytes, us, GF_TUNED_ALLREDUCE };
        us += most * (double)(draw(random) % 1000) / 1000;
        bytes = next;
    }
    return POINTS;
}

static size_t draw_table(uint64_t *random, struct gf_tuning_row *rows)
{
    static const enum gf_algorithm algorithms[] = { GF_PLAN_ONE_SHOT, GF_PLAN_RING, GF_PLAN_TWO_SHOT };
    size_t count = 0;

    for (int ranks = 2; ranks <= 8; ranks *= 2) {
        for (int a = 0; a < 3; a++) {
            count += draw_rows(random, GF_TOPOLOGY_SHARED, ranks, algorithms[a], rows + count);
        }
        count += draw_rows(random, GF_TOPOLOGY_TURNS, ranks, GF_PLAN_HOST, rows + count);
        count += draw_rows(random, GF_TOPOLOGY_TURNS, ranks, GF_PLAN_ONE_SHOT_MAPPED, rows + count);
    }
    qsort(rows, count, sizeof *rows, gf_tuning_compare);
    return count;
}

/* Nothing set that wins over a table: one-shot may take any size. */
static void test_random_tables_are_smooth(void **state)
{
    struct gf_config config = default_config();
    struct gf_tuning_row rows[ROWS_MOST];
    uint64_t random = seed;
    (void)state;

    config.one_shot_bytes = SIZE_MAX;
    for (int table = 0; table < TABLES; table++) {
        struct gf_tuning tuning = { rows, draw_table(&random, rows), 1, 1 };

        config.tuning = &tuning;
        for (int kind = 0; kind < 6 * 7; kind++) {
            struct gf_plan_input input = input_of(2 + kind % 7, 33, kind / 7 % 2, kind / 14 > 0);

            input.kernels_may_wait = kind / 14 < 2;
            check_smooth(&config, &input, "a random table");
        }
    }
}

/* The same input gives the same plan, to the byte, whatever was asked for in between. */
static void test_choices_are_pure(void **state)
{
    static struct gf_plan first[CALLS];
    struct gf_plan_input inputs[CALLS];
    struct gf_config config = default_config();
    struct gf_tuning_row rows[ROWS_MOST], as_before[ROWS_MOST];
    uint64_t random = seed;
    struct gf_tuning tuning = { rows, draw_table(&random, rows), 1, 1 };
    (void)state;

    memcpy(as_before, rows, sizeof rows[0] * tuning.count);
    for (int i = 0; i < CALLS; i++) {
        inputs[i] = input_of(2 + (int)(draw(&random) % 63), 1 + (int)(draw(&random) % 64), draw(&random) % 2, draw(&random) % 2);
        inputs[i].kernels_may_wait = draw(&random) % 4 > 0;
        inputs[i].agents = draw(&random) % 2;
        inputs[i].count = 1 + draw(&random) % ((size_t)1 << draw(&random) % 30);
        config.tuning = i % 2 ? &tuning : NULL;
        first[i] = plan_of(&config, &inputs[i]);
    }
    for (int i = CALLS; i-- > 0;) {
        config.tuning = i % 2 ? &tuning : NULL;
        struct gf_plan again = plan_of(&config, &inputs[i]);

        assert_memory_equal(&again, &first[i], sizeof again);
    }
    assert_memory_equal(rows, as_before, sizeof rows[0] * tuning.count);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_built_in_is_smooth),
        cmocka_unit_test(test_random_tables_are_smooth),
        cmocka_unit_test(test_choices_are_pure),
    };

    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 0);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
