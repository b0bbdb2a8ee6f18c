/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What both ends of a pipe need.
 */
#include <time.h>

#include "core/peers.h"
#include "core/pipe_memory.h"

void gf_pipe_config_default(struct gf_pipe_config *config)
{
    *config = (struct gf_pipe_config){
        .chunk_bytes = (size_t)512 * 1024,
        .slots = 24,
        .depth = 8,
        .least_bytes = (size_t)256 * 1024,
    };
}

bool gf_pipe_watch_due(struct gf_pipe_watch *watch)
{
    enum { CALLS_PER_CLOCK = 256, INTERVAL_NS = 500 * 1000 * 1000 };
    struct timespec now;

    if (++watch->calls % CALLS_PER_CLOCK != 0) {
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;

    if (now_ns - watch->looked_ns < INTERVAL_NS) {
        return false;
    }
    watch->looked_ns = now_ns;
    return true;
}

bool gf_pipe_process_lives(int32_t pid)
{
    return gf_peer_alive(&(struct gf_peer_info){ .pid = pid });
}
