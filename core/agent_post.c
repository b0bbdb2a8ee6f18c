/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Commands that nobody waits for: they are given to an agent that runs, and come back if it leaves without them.
 */
#include "core/agent_private.h"

#include "base/clock.h"
#include "core/host_ordered.h"

/* Of the ring a line stays free, for gf_agent_run. */
static bool takes_posts(const gf_agent *agent)
{
    return gf_command_ring_is_running(&agent->ring) && agent->ring.put + 1 < gf_host_observe(agent->ring.done) + GF_COMMANDS;
}

bool gf_agent_post(gf_agent *agent, struct gf_command *command, uint32_t *returned)
{
    bool given = false;

    if (pthread_mutex_trylock(&agent->use) != 0) {
        return false;
    }
    if (!gf_agent_is_kept_out(agent) && gf_agent_choose_linger(agent) > 0 && takes_posts(agent)) {
        command->linger_us = (uint16_t)agent->linger_us;
        *returned = 0;
        agent->posted[agent->ring.put % GF_COMMANDS] = (struct gf_agent_post){ .number = agent->ring.put, .returned = returned };
        gf_command_ring_put(&agent->ring, command);
        agent->statistics.commands++;
        given = true;
    }
    agent->returned_ns = gf_now_ns();
    pthread_mutex_unlock(&agent->use);
    return given;
}

void gf_agent_return_posts(gf_agent *agent)
{
    for (int line = 0; line < GF_COMMANDS; line++) {
        struct gf_agent_post *post = &agent->posted[line];

        if (post->returned && gf_command_ring_was_left(&agent->ring, post->number)) {
            gf_host_publish_flag(post->returned, 1);
        }
        post->returned = NULL;
    }
}

void gf_agent_invite(gf_agent *agent)
{
    if (pthread_mutex_trylock(&agent->use) != 0) {
        return;
    }
    if (agent->linger_us > 0 && !agent->broken) {
        (void)gf_agent_summon(agent, NULL);
    }
    pthread_mutex_unlock(&agent->use);
}

gf_status gf_agent_collect(gf_agent *agent)
{
    gf_status status;

    if (pthread_mutex_trylock(&agent->use) != 0) {
        return GF_OK;
    }
    if (!gf_command_ring_is_served(&agent->ring)) {
        gf_agent_return_posts(agent);
    }
    status = gf_device_stream_query(agent->device, agent->stream);
    agent->broken |= status != GF_OK && status != GF_IN_PROGRESS;
    status = agent->broken ? GF_ERR_DEVICE : GF_OK;
    pthread_mutex_unlock(&agent->use);
    return status;
}
