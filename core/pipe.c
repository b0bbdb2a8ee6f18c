/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What both ends of a pipe need.
 */
#include "base/clock.h"
#include "core/message_sizes.h"
#include "core/peers.h"
#include "core/pipe_memory.h"

void gf_pipe_config_default(struct gf_pipe_config *config)
{
    *config = (struct gf_pipe_config){
        .chunk_bytes = (size_t)512 * 1024,
        .slots = 24,
        .depth = 8,
        .least_bytes = gf_message_sizes_of(NULL).pipe,
    };
}

/* At least four chunks of a message, if they are not too small to be worth a copy each. */
size_t gf_pipe_chunk_choose(const struct gf_pipe_config *config, size_t bytes)
{
    size_t chunk = (bytes / 4 + GF_PIPE_CHUNK_UNIT - 1) / GF_PIPE_CHUNK_UNIT * GF_PIPE_CHUNK_UNIT;

    chunk = chunk < GF_PIPE_CHUNK_UNIT ? GF_PIPE_CHUNK_UNIT : chunk;
    return chunk < config->chunk_bytes ? chunk : config->chunk_bytes;
}

gf_status gf_pipe_config_check(const struct gf_pipe_config *config, struct gf_reason *why)
{
    if (config->chunk_bytes == 0 || config->chunk_bytes % GF_PIPE_CHUNK_UNIT != 0 || config->slots == 0 ||
        config->slots > 65536 || config->depth == 0 || config->depth > GF_PIPE_DEPTH) {
        gf_reason_set(why, "a pipe of %u slots of %zu bytes, %u a message, cannot be: use 1 to 65536 slots of a multiple of "
                      "%d bytes, 1 to %d a message", config->slots, config->chunk_bytes, config->depth, GF_PIPE_CHUNK_UNIT,
GF_PIPE_DEPTH);
        return GF_ERR_INVALID;
    }
    return GF_OK;
}

bool gf_pipe_watch_due(struct gf_pipe_watch *watch)
{
    enum { CALLS_PER_CLOCK = 256, INTERVAL_NS = 500 * 1000 * 1000 };

    if (++watch->calls % CALLS_PER_CLOCK != 0) {
        return false;
    }
    uint64_t now = gf_now_ns();

    if (now - watch->looked_ns < INTERVAL_NS) {
        return false;
    }
    watch->looked_ns = now;
    return true;
}

bool gf_pipe_process_lives(int32_t pid)
{
    return gf_peer_alive(&(struct gf_peer_info){ .pid = pid });
}
