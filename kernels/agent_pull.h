/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small message fetched by the agent: what a launch of one block would do (kernels/pull.h), but for the gate, which it does not
 * need: a command is given to an agent that runs, and so does not wait for a device that is full.
 */
#ifndef GF_KERNELS_AGENT_PULL_H
#define GF_KERNELS_AGENT_PULL_H

#include "kernels/simple.h"

/* An item a thread at a time: the agent has few registers to spare for more, and a message that is worth them is launched. */
GF_INLINE void gf_agent_copy(const struct gf_team *team, char *to, const char *from, uint32_t bytes)
{
    GF_ROLL
    for (uint32_t i = team->thread * GF_ITEM_BYTES; i < bytes; i += team->threads * GF_ITEM_BYTES) {
        uint32_t valid = bytes - i < GF_ITEM_BYTES ? bytes - i : GF_ITEM_BYTES;
        gf_store_ragged(team, to + i, gf_load_ragged(from + i, valid), valid);
    }
}

GF_INLINE void gf_agent_pull(const struct gf_team *team, const struct gf_pull_command *command)
{
    gf_agent_copy(team, (char *)command->to, (const char *)command->from, command->last + 1u);
    if (GF_MUTANT != GF_MUTANT_AGENT_EARLY_END)
        gf_team_meet(team);
    if (team->thread == 0)
        gf_publish_pulled(team, command->end, command->to_host);
}

#endif
