/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the lines of two ways cross.
 */
#include "core/message_sizes.h"

#include "kernels/work.h"

/* Estimates, of what has not been measured on a machine of its own. */
enum { PIPE_BYTES = 256 << 10, NET_BYTES = 256 << 10 };

static bool tells(const struct gf_tuning *tuning, enum gf_topology topology, enum gf_message_way way)
{
    return gf_tuning_message_us(tuning, topology, way, 1) >= 0;
}

/* The ranks may have their devices as they like: neither way cares, so the first topology counts that has rows of both. A process
 * has one size for all of its peers. */
static bool find(const struct gf_tuning *tuning, enum gf_message_way way, enum gf_message_way rival, size_t *bytes)
{
    for (enum gf_topology t = 0; tuning && t < GF_TOPOLOGY_COUNT; t++) {
        if (tells(tuning, t, way) && tells(tuning, t, rival)) {
            *bytes = gf_tuning_message_least(tuning, t, way, rival, *bytes);
            return true;
        }
    }
    return false;
}

static size_t least(const struct gf_tuning *tuning, enum gf_message_way way, enum gf_message_way rival, size_t estimate)
{
    size_t bytes = estimate;

    if (!find(tuning, way, rival, &bytes)) {
        (void)find(&gf_tuning_default, way, rival, &bytes);
    }
    return bytes < PTRDIFF_MAX ? bytes : PTRDIFF_MAX;
}

struct gf_message_sizes gf_message_sizes_of(const struct gf_tuning *tuning)
{
    size_t kernel = least(tuning, GF_WAY_KERNEL, GF_WAY_AGENT, GF_PULL_COMMAND_MOST + 1);

    return (struct gf_message_sizes){
        .agent = kernel > GF_PULL_COMMAND_MOST ? GF_PULL_COMMAND_MOST : kernel - 1,
        .pack = least(tuning, GF_WAY_PACK, GF_WAY_PACK_STAGE, PTRDIFF_MAX),
        .pipe = least(tuning, GF_WAY_PIPE, GF_WAY_STAGE, PIPE_BYTES),
        .net = least(tuning, GF_WAY_NET, GF_WAY_CHUNKS, NET_BYTES),
    };
}
