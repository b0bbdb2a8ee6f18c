/* SPDX-License-Identifier: BSD-3-Clause
 *
 * By which path a message goes, what is said of it, and the shapes of launches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/message_sizes.h"
#include "core/offer_board.h"
#include "core/pull_plan.h"
#include "core/tuning.h"
#include "kernels/work.h"

enum { KIB = 1024, MIB = 1 << 20 };

static void test_paths(void **state)
{
    static const struct { struct gf_pull_route route; enum gf_pull_path path; const char *said; } cases[] = {
        { { .bytes = 8, .same_device = true, .concurrent = true, .to_device = true }, GF_PULL_KERNEL, "by a kernel" },
        { { .bytes = 90 * MIB, .same_device = true, .concurrent = true, .to_device = true }, GF_PULL_KERNEL, "by a kernel" },
        { { .bytes = 100 * MIB, .same_device = true, .concurrent = true, .to_device = true }, GF_PULL_COPY_ENGINE, "engine" },
        { { .bytes = 63 * KIB, .same_device = true, .concurrent = true }, GF_PULL_KERNEL, "less than 65536" },
        { { .bytes = 64 * KIB, .same_device = true, .concurrent = true }, GF_PULL_COPY_ENGINE, "65536 bytes or more" },
        { { .bytes = 8, .same_device = true, .to_device = true }, GF_PULL_STAGE, "without MPS" },
        { { .bytes = 4 * MIB - 1, .same_device = true, .to_device = true }, GF_PULL_STAGE, "staged" },
        { { .bytes = 4 * MIB, .same_device = true, .to_device = true }, GF_PULL_KERNEL, "time slice" },
        { { .bytes = 4 * MIB, .same_device = true }, GF_PULL_COPY_ENGINE, "time slice" },
        { { .bytes = 8, .to_device = true }, GF_PULL_KERNEL, "by a kernel" },
        { { .bytes = 20 * MIB - 1, .concurrent = true, .to_device = true }, GF_PULL_KERNEL, "less than 20971520" },
        { { .bytes = 20 * MIB, .concurrent = true, .to_device = true }, GF_PULL_COPY_ENGINE, "20971520 bytes or more" },
        { { .bytes = 20 * MIB, .to_device = true }, GF_PULL_COPY_ENGINE, "20971520 bytes or more" },
        { { .bytes = 64 * KIB, .concurrent = true }, GF_PULL_COPY_ENGINE, "65536 bytes or more" },
    };
    struct gf_pull_config config;

    (void)state;
    gf_pull_config_default(&config);
    assert_true(config.move_bytes <= GF_OFFER_SLOT_BYTES);
    config.copy_engine_bytes = 100 * MIB;
    config.peer_engine_bytes = 20 * MIB;
    config.host_kernel_bytes = 64 * KIB;
    config.solo_bytes = 4 * MIB;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_reason reason = { "" };

        assert_int_equal(gf_pull_choose(&config, &cases[i].route), cases[i].path);
        gf_pull_explain(&config, &cases[i].route, &reason);
        assert_non_null(strstr(reason.text, cases[i].said));
    }
}

/* What a process goes by: the table tells from where on which path is the fastest, to the byte. */
static void test_tuned(void **state)
{
#define ROW(topology, path, bytes, us) { topology, 2, path, bytes, us, GF_TUNED_MESSAGE }
    static const struct gf_tuning_row rows[] = {
        { GF_TOPOLOGY_SHARED, 2, GF_PULL_KERNEL, 600, 1, GF_TUNED_ALLREDUCE },        /* what has this number there */
        ROW(GF_TOPOLOGY_SHARED, GF_PULL_KERNEL, 100, 10), ROW(GF_TOPOLOGY_SHARED, GF_PULL_KERNEL, 1100, 20),
        ROW(GF_TOPOLOGY_SHARED, GF_PULL_COPY_ENGINE, 100, 15), ROW(GF_TOPOLOGY_SHARED, GF_PULL_COPY_ENGINE, 1100, 15),
        ROW(GF_TOPOLOGY_TURNS, GF_PULL_KERNEL, 8, 50), ROW(GF_TOPOLOGY_TURNS, GF_PULL_KERNEL, 1000, 50),
        ROW(GF_TOPOLOGY_TURNS, GF_PULL_STAGE, 100, 10),
        ROW(GF_TOPOLOGY_DEVICES, GF_PULL_KERNEL, 8, 9), ROW(GF_TOPOLOGY_DEVICES, GF_PULL_COPY_ENGINE, 8, 10),
        ROW(GF_TOPOLOGY_DEVICES, GF_WAY_KERNEL_TO_HOST, 10, 4), ROW(GF_TOPOLOGY_DEVICES, GF_WAY_KERNEL_TO_HOST, 30, 8),
        ROW(GF_TOPOLOGY_DEVICES, GF_WAY_COPY_ENGINE_TO_HOST, 10, 6), ROW(GF_TOPOLOGY_DEVICES, GF_WAY_COPY_ENGINE_TO_HOST, 30, 6),
    };
    static const struct gf_tuning table = { .rows = rows, .count = sizeof rows / sizeof rows[0] };
    static const struct gf_tuning fewer = { .rows = rows, .count = 5 };
    struct gf_pull_config usual, config = gf_pull_config_of(&table, GF_FORCE_PULL_AUTO);

    (void)state;
    assert_int_equal(config.copy_engine_bytes, 600);
    assert_int_equal(config.solo_bytes, 500);
    assert_int_equal(config.peer_engine_bytes, SIZE_MAX);
    assert_int_equal(config.host_kernel_bytes, 20);
    gf_pull_config_default(&usual);
    assert_int_equal(usual.host_kernel_bytes, 64 * KIB);
    config = gf_pull_config_of(NULL, GF_FORCE_PULL_AUTO);
    assert_memory_equal(&config, &usual, sizeof usual);
    assert_int_equal(usual.copy_engine_bytes, SIZE_MAX);
    assert_int_equal(usual.peer_engine_bytes, 16 * MIB);
    assert_int_equal(usual.solo_bytes, 4 * MIB);
    config = gf_pull_config_of(&fewer, GF_FORCE_PULL_AUTO);
    assert_int_equal(config.peer_engine_bytes, usual.peer_engine_bytes);
    assert_int_equal(config.solo_bytes, usual.solo_bytes);
    config = gf_pull_config_of(&table, GF_FORCE_PULL_KERNEL);
    assert_int_equal(config.copy_engine_bytes, SIZE_MAX);
    assert_int_equal(config.solo_bytes, 0);
}

/* The path that wins for the largest sizes, and loses again in between: it is taken behind the last loss. */
static void test_least(void **state)
{
    static const struct gf_tuning_row rows[] = {
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 10, 5), ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 20, 9),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 30, 5), ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 40, 9),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_COPY_ENGINE, 10, 7),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_COPY_ENGINE, 40, 7),
    };
    static const struct gf_tuning table = { .rows = rows, .count = sizeof rows / sizeof rows[0] };

    (void)state;
    assert_int_equal(gf_tuning_message_least(&table, GF_TOPOLOGY_SHARED, GF_WAY_COPY_ENGINE, GF_WAY_KERNEL, 3), 35);
    assert_int_equal(gf_tuning_message_least(&table, GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, GF_WAY_COPY_ENGINE, 3), SIZE_MAX);
    assert_int_equal(gf_tuning_message_least(&table, GF_TOPOLOGY_SHARED, GF_WAY_STAGE, GF_WAY_KERNEL, 3), 3);
    assert_int_equal(gf_tuning_message_least(&table, GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, GF_WAY_KERNEL, 3), 1);
}

/* Ways whose sizes have variables of their own: the first topology with rows of both tells, of one that has not both nothing. */
static void test_message_sizes(void **state)
{
    static const struct gf_tuning_row rows[] = {
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 10, 9), ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 30, 9),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_STAGE, 10, 5),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_STAGE, 30, 15), ROW(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 10, 5),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 30, 13), ROW(GF_TOPOLOGY_SHARED, GF_WAY_PIPE, 10, 10),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_PIPE, 30, 10), ROW(GF_TOPOLOGY_SHARED, GF_WAY_NET, 10, 1),
        ROW(GF_TOPOLOGY_DEVICES, GF_WAY_PACK, 100, 7), ROW(GF_TOPOLOGY_DEVICES, GF_WAY_PACK, 200, 7),
        ROW(GF_TOPOLOGY_DEVICES, GF_WAY_PACK_STAGE, 100, 4), ROW(GF_TOPOLOGY_DEVICES, GF_WAY_PACK_STAGE, 200, 8),
        ROW(GF_TOPOLOGY_DEVICES, GF_WAY_NET, 100, 50), ROW(GF_TOPOLOGY_DEVICES, GF_WAY_NET, 300, 50),
        ROW(GF_TOPOLOGY_DEVICES, GF_WAY_CHUNKS, 100, 40), ROW(GF_TOPOLOGY_DEVICES, GF_WAY_CHUNKS, 300, 60),
    };
    static const struct gf_tuning_row slow_agent[] = {
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_KERNEL, 10, 9), ROW(GF_TOPOLOGY_SHARED, GF_WAY_AGENT, 10, 10),
        ROW(GF_TOPOLOGY_SHARED, GF_WAY_PACK, 10, 10), ROW(GF_TOPOLOGY_SHARED, GF_WAY_PACK_STAGE, 10, 9),
    };
    static const struct gf_tuning table = { .rows = rows, .count = sizeof rows / sizeof rows[0] };
    static const struct gf_tuning other = { .rows = slow_agent, .count = sizeof slow_agent / sizeof slow_agent[0] };
    struct gf_message_sizes usual = gf_message_sizes_of(NULL), sizes = gf_message_sizes_of(&table);

    (void)state;
    assert_int_equal(usual.agent, GF_PULL_COMMAND_MOST);
    assert_int_equal(usual.pack, 32 * KIB);
    assert_int_equal(usual.pipe, 256 * KIB);
    assert_int_equal(usual.net, 256 * KIB);
    assert_int_equal(sizes.agent, 19);
    assert_int_equal(sizes.pipe, 20);
    assert_int_equal(sizes.pack, 175);
    assert_int_equal(sizes.net, 200);
    sizes = gf_message_sizes_of(&other);
    assert_int_equal(sizes.agent, 0);
    assert_int_equal(sizes.pack, PTRDIFF_MAX);
    assert_int_equal(sizes.pipe, usual.pipe);
    assert_int_equal(sizes.net, usual.net);
}

/* What is forced holds for any size, also where it waits for time slices. */
static void test_forced(void **state)
{
    static const struct gf_pull_route shared = { .same_device = true, .concurrent = true, .to_device = true };
    static const struct { enum gf_force_pull force; enum gf_pull_path path, to_host, alone; } cases[] = {
        { GF_FORCE_PULL_AUTO, GF_PULL_KERNEL, GF_PULL_COPY_ENGINE, GF_PULL_STAGE },
        { GF_FORCE_PULL_KERNEL, GF_PULL_KERNEL, GF_PULL_KERNEL, GF_PULL_KERNEL },
        { GF_FORCE_PULL_COPY_ENGINE, GF_PULL_COPY_ENGINE, GF_PULL_COPY_ENGINE, GF_PULL_COPY_ENGINE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gf_pull_route small = shared, to_host = shared, alone = shared, other = shared;
        struct gf_pull_config config;

        small.bytes = alone.bytes = other.bytes = 8;
        to_host.bytes = MIB;
        to_host.to_device = alone.concurrent = other.same_device = false;
        gf_pull_config_default(&config);
        gf_pull_config_force(&config, cases[i].force);
        assert_int_equal(gf_pull_choose(&config, &small), cases[i].path);
        assert_int_equal(gf_pull_choose(&config, &to_host), cases[i].to_host);
        assert_int_equal(gf_pull_choose(&config, &alone), cases[i].alone);
        assert_int_equal(gf_pull_choose(&config, &other), cases[i].path);
    }
}

/* Every block has a share, all bytes have a block, and the device's limits hold. */
static void expect_shape(const struct gf_pull_config *config, uint32_t device_blocks, uint64_t bytes, bool list)
{
    struct gf_pull_shape shape;

    gf_pull_shape_choose(config, device_blocks, bytes, list, &shape);
    assert_true(shape.blocks >= 1 && shape.blocks <= GF_PULL_BLOCKS);
    assert_true(shape.blocks <= (config->blocks > 0 ? config->blocks : device_blocks));
    assert_true(shape.threads >= 32 && shape.threads <= GF_BLOCK_THREADS && shape.threads % 32 == 0);
    assert_true(shape.share > 0 && shape.share % GF_LINE == 0);
    assert_true((shape.blocks - 1) * shape.share < bytes);
    if (list || config->share_bytes == 0) {
        assert_true(shape.blocks * shape.share >= bytes);
    }
}

static void test_shapes(void **state)
{
    static const uint32_t devices[] = { 1, 3, 8, 132, 264, 1000 };
    struct gf_pull_config config;

    (void)state;
    gf_pull_config_default(&config);
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++) {
        for (uint64_t bytes = GF_LINE; bytes < (uint64_t)16 << 30; bytes = (bytes * 3 / 2 + GF_LINE) / GF_LINE * GF_LINE) {
            for (config.share_bytes = 0; config.share_bytes < 100000; config.share_bytes += 16384) {
                for (config.blocks = 0; config.blocks < 200; config.blocks += 66) {
                    expect_shape(&config, devices[d], bytes, false);
                    expect_shape(&config, devices[d], bytes, true);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_tuned),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_message_sizes),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
