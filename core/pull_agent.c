/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small messages that the agent fetches, so that they need no launch. Such a pull ends like any other, by the word of its offer;
 * one that the agent has left lying goes on as if there were no agent.
 */
#include "core/host_ordered.h"
#include "core/pull_engine.h"

/* How often the agent is looked after while it has messages, and so how long one waits that it has left lying. */
#define LOOK_NS 20000u

void gf_pull_engine_use_agent(gf_pull_engine *engine, gf_agent *agent)
{
    engine->agent = agent;
}

static uint32_t free_place(const gf_pull_engine *engine)
{
    uint32_t place = 0;

    while (place < GF_PULL_POSTED_MOST && engine->posted[place]) {
        place++;
    }
    return place;
}

/* An agent that stays takes time from those who share the GPU without MPS. */
static bool may_stay(gf_pull_engine *engine, const struct gf_pull *pull)
{
    engine->shared |= gf_pull_sharing(engine, pull) == GF_SHARING_SAME;
    return engine->agent && (engine->device->caps.concurrent_processes || !engine->shared);
}

/* The agent takes messages one after the other, while a launch takes many at once: so it gets none while others are collected. */
static bool is_burst(const gf_pull_engine *engine)
{
    return engine->waiting.count > 0 || (engine->burst && engine->flying > 0);
}

bool gf_pull_post(gf_pull_engine *engine, struct gf_pull *pull)
{
    uint32_t place = free_place(engine);
    union gf_command_line line;

    if (!may_stay(engine, pull) || is_burst(engine) || pull->path != GF_PULL_KERNEL || pull->bytes > engine->config.agent_bytes ||
        pull->bytes > GF_PULL_COMMAND_MOST || place == GF_PULL_POSTED_MOST) {
        return false;
    }
    line.pull = (struct gf_pull_command){
        .kind = GF_COMMAND_PULL, .to_host = pull->to_host, .last = (uint16_t)(pull->bytes - 1), .from = pull->kernel_from,
        .to = pull->kernel_to, .end = pull->end,
    };
    if (!gf_agent_post(engine->agent, &line.command, &pull->returned)) {
        engine->invites = true;
        return false;
    }
    engine->posted[place] = pull;
    engine->posted_count++;
    if (engine->posted_count == 1) {
        engine->agent_looked_ns = 0;
    }
    engine->statistics.by_agent++;
    pull->posted = true;
    pull->place = place;
    return true;
}

void gf_pull_unpost(gf_pull_engine *engine, struct gf_pull *pull)
{
    engine->posted[pull->place] = NULL;
    engine->posted_count--;
    pull->posted = false;
}

/* One whose end the device has stored, one that the agent has returned, or one that never ends, since the device has failed. */
static void settle(gf_pull_engine *engine, struct gf_pull *pull, gf_status status)
{
    if (gf_host_observe(&pull->offer->state) != pull->word) {
        gf_pull_end(engine, pull, GF_OK);
    } else if (status != GF_OK) {
        gf_pull_fail(engine, pull, status);
    } else if (gf_host_observe_flag(&pull->returned)) {
        engine->statistics.returned++;
        gf_pull_unpost(engine, pull);
        gf_pull_append(engine, pull);
    }
}

void gf_pull_look_after_agent(gf_pull_engine *engine, uint64_t now)
{
    if (engine->agent_looked_ns == 0) {
        engine->agent_looked_ns = now;
    }
    if (now - engine->agent_looked_ns < LOOK_NS) {
        return;
    }
    engine->agent_looked_ns = now;

    gf_status status = gf_agent_collect(engine->agent);

    for (uint32_t i = 0; i < GF_PULL_POSTED_MOST; i++) {
        if (engine->posted[i]) {
            settle(engine, engine->posted[i], status);
        }
    }
}
