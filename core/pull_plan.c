/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which path is the fastest at which size the table of core/tuning.h tells, which gpufifo-bench --tune makes for a machine; that
 * which is built in says what it was drawn from. The constants here come from measurements on one NVIDIA H200 under MPS, medians,
 * with 264 blocks; a block is worth its launch from 8 KiB on. Where processes take turns on a GPU a kernel fetches, since the
 * driver's copy, queued behind a kernel of the program that itself waits for the message, would wait for ever; and it is given
 * time for the other processes' slices (about 2 ms each) to pass.
 */
#include "core/pull_plan.h"

#include "core/offer_board.h"
#include "core/tuning.h"
#include "kernels/work.h"

enum { WARP = 32, LEAST_THREADS = 64, THREAD_BYTES = 16, MIB = 1 << 20 };

static void tune(struct gf_pull_config *config, const struct gf_tuning *tuning)
{
    config->copy_engine_bytes = gf_tuning_message_least(tuning, GF_TOPOLOGY_SHARED, GF_WAY_COPY_ENGINE, GF_WAY_KERNEL,
                                                        config->copy_engine_bytes);
    config->peer_engine_bytes = gf_tuning_message_least(tuning, GF_TOPOLOGY_DEVICES, GF_WAY_COPY_ENGINE, GF_WAY_KERNEL,
                                                        config->peer_engine_bytes);
    config->solo_bytes = gf_tuning_message_least(tuning, GF_TOPOLOGY_TURNS, GF_WAY_KERNEL, GF_WAY_STAGE, config->solo_bytes);
    for (enum gf_topology t = GF_TOPOLOGY_COUNT; t-- > 0;) {       /* a process has one, of the first topology that tells */
        config->host_kernel_bytes = gf_tuning_message_least(tuning, t, GF_WAY_COPY_ENGINE_TO_HOST, GF_WAY_KERNEL_TO_HOST,
                                                            config->host_kernel_bytes);
    }
}

void gf_pull_config_default(struct gf_pull_config *config)
{
    *config = (struct gf_pull_config){
        .copy_engine_bytes = SIZE_MAX,
        .peer_engine_bytes = SIZE_MAX,
        .host_kernel_bytes = (size_t)64 * 1024,
        .move_bytes = GF_OFFER_SLOT_BYTES,
        .patience_us = 40,
        .start_us = 300,
        .slices_us = 10000,
        .block_bytes = (size_t)THREAD_BYTES * GF_BLOCK_THREADS,
        .burst_bytes = (size_t)8 * MIB,
    };
    tune(config, &gf_tuning_default);
}

struct gf_pull_config gf_pull_config_of(const struct gf_tuning *tuning, enum gf_force_pull force)
{
    struct gf_pull_config config;

    gf_pull_config_default(&config);
    if (tuning) {
        tune(&config, tuning);
    }
    gf_pull_config_force(&config, force);
    return config;
}

void gf_pull_config_force(struct gf_pull_config *config, enum gf_force_pull force)
{
    if (force != GF_FORCE_PULL_AUTO) {
        config->copy_engine_bytes = config->peer_engine_bytes = config->host_kernel_bytes =
            force == GF_FORCE_PULL_KERNEL ? SIZE_MAX : 0;
        config->solo_bytes = 0;
    }
}

static size_t kernel_limit(const struct gf_pull_config *config, const struct gf_pull_route *route)
{
    if (!route->to_device) {
        return config->host_kernel_bytes;
    }
    return route->same_device ? config->copy_engine_bytes : config->peer_engine_bytes;
}

/* Kernels of this process start at once: nobody else is on the GPU, or they share it. */
static bool starts_at_once(const struct gf_pull_route *route)
{
    return route->concurrent || !route->same_device;
}

enum gf_pull_path gf_pull_choose(const struct gf_pull_config *config, const struct gf_pull_route *route)
{
    if (!starts_at_once(route) && route->bytes < config->solo_bytes) {
        return GF_PULL_STAGE;
    }
    return route->bytes < kernel_limit(config, route) ? GF_PULL_KERNEL : GF_PULL_COPY_ENGINE;
}

void gf_pull_explain(const struct gf_pull_config *config, const struct gf_pull_route *route, struct gf_reason *reason)
{
    size_t limit = starts_at_once(route) ? kernel_limit(config, route) : config->solo_bytes;
    const char *slice = starts_at_once(route) ? "" : ", where a wait for the GPU's next time slice pays";

    switch (gf_pull_choose(config, route)) {
    case GF_PULL_KERNEL:
        if (*slice) {
            gf_reason_set(reason, "by a kernel: %zu bytes or more%s", limit, slice);
        } else if (limit == SIZE_MAX) {
            gf_reason_set(reason, "by a kernel, which is the fastest for any size here");
        } else {
            gf_reason_set(reason, "by a kernel: less than %zu bytes", limit);
        }
        break;
    case GF_PULL_COPY_ENGINE:
        gf_reason_set(reason, "by copy engine: %zu bytes or more%s", limit, slice);
        break;
    case GF_PULL_STAGE:
        gf_reason_set(reason, "staged through the host: less than %zu bytes, and both ranks share a GPU without MPS, where all "
                      "that runs on it waits for time slices", config->solo_bytes);
        break;
    }
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

void gf_pull_shape_choose(const struct gf_pull_config *config, uint32_t device_blocks, uint64_t bytes, bool list,
                          struct gf_pull_shape *shape)
{
    uint64_t most = config->blocks > 0 ? config->blocks : device_blocks;
    uint64_t least = round_up(config->block_bytes > 0 ? config->block_bytes : 1, GF_LINE);

    most = most < GF_PULL_BLOCKS ? most : GF_PULL_BLOCKS;
    uint64_t share = round_up((bytes + most - 1) / most, GF_LINE);

    share = share > least ? share : least;
    uint64_t blocks = (bytes + share - 1) / share;
    uint64_t threads = round_up((bytes < share ? bytes : share) / THREAD_BYTES, WARP);

    threads = threads < LEAST_THREADS ? LEAST_THREADS : threads;
    if (!list && config->share_bytes > 0 && share > config->share_bytes) {
        share = round_up(config->share_bytes, GF_LINE);
    }
    *shape = (struct gf_pull_shape){
        .blocks = (uint32_t)blocks, .share = share,
        .threads = (uint32_t)(threads < GF_BLOCK_THREADS ? threads : GF_BLOCK_THREADS),
    };
}
