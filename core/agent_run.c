/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launches of the agent, and operations that are given to it and waited for.
 */
#include "core/agent_private.h"

#include "base/clock.h"
#include "core/fault.h"
#include "core/host_ordered.h"

/* As in core/execute.c; but the first turn of a wait is as long as a small command takes, so that none of those is kept waiting
 * by progress of others. */
enum { FIRST_LOOKS = 4096, LOOKS_PER_TURN = 256, TURNS_PER_QUERY = 4096 };

/* A launch waits at least so long for its first command: the host needs some microseconds to learn that it runs. */
enum { FIRST_LINGER_US = 50 };

/* An agent that leaves again and again before the command comes, since the host is so slow, is given up. */
enum { LAUNCHES_PER_RUN = 4 };

/* Has a launch waited longer than is allowed for its place on the device? */
bool gf_agent_is_kept_out(const gf_agent *agent)
{
    return gf_command_ring_is_served(&agent->ring) && !gf_command_ring_is_running(&agent->ring)
        && gf_now_ns() - agent->launched_ns > agent->start_ns;
}

/* One that is still to begin is neither there nor gone: nothing is learned from that. */
uint32_t gf_agent_choose_linger(gf_agent *agent)
{
    uint64_t gap_us = (gf_now_ns() - agent->returned_ns) / 1000;
    bool here = gf_command_ring_is_running(&agent->ring);

    if (here || !gf_command_ring_is_served(&agent->ring)) {
        agent->linger_us = gf_linger_next(&agent->linger, here, gap_us);
    }
    return agent->broken ? 0 : agent->linger_us;
}

/* While it is kept out, nothing is learned of the program's habits, and what would be launched would be kept out as well. */
bool gf_agent_claim(gf_agent *agent)
{
    if (pthread_mutex_trylock(&agent->use) != 0) {
        return false;
    }
    if ((gf_agent_is_kept_out(agent) && !agent->broken) || gf_agent_choose_linger(agent) > 0) {
        return true;
    }
    pthread_mutex_unlock(&agent->use);
    return false;
}

gf_status gf_agent_summon(gf_agent *agent, struct gf_reason *why)
{
    if (gf_command_ring_is_served(&agent->ring)) {
        return GF_OK;
    }
    gf_agent_return_posts(agent);
    gf_fault_pass(agent->stages, GF_FAULT_AGENT);

    struct gf_agent_work work = {
        .ring = (const uint64_t *)(const void *)agent->kernel_words,
        .done = (uint64_t *)(void *)(agent->kernel_words + GF_AGENT_DONE),
        .left = (uint64_t *)(void *)(agent->kernel_words + GF_AGENT_LEFT),
        .tables = agent->kernel_tables, .relay = agent->kernel_relay,
        .first = gf_command_ring_begin(&agent->ring),
        .linger_us = agent->linger_us > FIRST_LINGER_US ? agent->linger_us : FIRST_LINGER_US,
    };
    int blocks = __atomic_load_n(&agent->blocks, __ATOMIC_RELAXED);
    gf_status status = gf_device_launch(agent->device, agent->stream, GF_KERNEL_AGENT, blocks, GF_BLOCK_THREADS, &work,
                                        sizeof work, why);

    agent->launched_ns = gf_now_ns();
    if (status != GF_OK) {
        gf_command_ring_take_back(&agent->ring);
        agent->broken = true;
        return status == GF_ERR_UNSUPPORTED ? GF_ERR_DEVICE : status;
    }
    agent->statistics.launches++;
    return GF_OK;
}

/* A launch that the device has ended has also said that it left. */
static gf_status ask_stream(gf_agent *agent, struct gf_reason *why)
{
    bool served = gf_command_ring_is_served(&agent->ring);
    gf_status status = gf_device_stream_query(agent->device, agent->stream);

    if (status == GF_IN_PROGRESS || (status == GF_OK && (!served || !gf_command_ring_is_served(&agent->ring)))) {
        return GF_OK;
    }
    agent->broken = true;
    gf_reason_set(why, "the device reported a failure while the agent was at work (%s): look for an invalid access in the "
                  "program's own kernels too", status == GF_OK ? "it ended" : gf_status_string(status));
    return GF_ERR_DEVICE;
}

static gf_status poll(const struct gf_host_wait *wait, struct gf_reason *why)
{
    return wait ? wait->poll(wait->ctx, why) : GF_OK;
}

/* Until the agent runs. GF_NO_RESOURCE: not so soon. What makes the caller's wait fail ends this one. */
static gf_status until_running(gf_agent *agent, const struct gf_host_wait *wait, struct gf_reason *why)
{
    gf_status status = gf_agent_summon(agent, why);

    for (uint32_t turn = 1; status == GF_OK && !gf_command_ring_is_running(&agent->ring); turn++) {
        if (!gf_command_ring_is_served(&agent->ring) || gf_agent_is_kept_out(agent)) {
            return GF_NO_RESOURCE;
        }
        status = poll(wait, why);
        if (status == GF_OK && turn % TURNS_PER_QUERY == 0) {
            status = ask_stream(agent, why);
        }
    }
    return status;
}

static bool is_over(const gf_agent *agent, uint64_t number, int looks)
{
    for (int look = 0; look < looks; look++) {
        if (gf_command_ring_has_ended(&agent->ring, number)) {
            return true;
        }
    }
    return gf_command_ring_was_left(&agent->ring, number);
}

/* Until the command has ended, or was left lying: GF_NO_RESOURCE. What makes the caller's wait fail makes the kernel leave too,
 * so it does not end this one. */
static gf_status until_over(gf_agent *agent, uint64_t number, const struct gf_host_wait *wait, struct gf_reason *why)
{
    gf_status status = GF_OK, cause = GF_OK;

    for (uint32_t turn = 1; status == GF_OK && !is_over(agent, number, turn == 1 ? FIRST_LOOKS : LOOKS_PER_TURN); turn++) {
        if (cause == GF_OK) {
            cause = poll(wait, why);
        }
        if (turn % TURNS_PER_QUERY == 0) {
            status = ask_stream(agent, why);
        }
    }
    if (status != GF_OK || gf_command_ring_has_ended(&agent->ring, number)) {
        return status;
    }
    return cause == GF_OK ? GF_NO_RESOURCE : cause;
}

gf_status gf_agent_run(gf_agent *agent, int table, struct gf_command *command, const struct gf_host_wait *wait,
                       struct gf_reason *why)
{
    gf_status status = GF_NO_RESOURCE;

    command->table = (uint16_t)table;
    command->linger_us = (uint16_t)agent->linger_us;
    for (int launches = 0; launches < LAUNCHES_PER_RUN && status == GF_NO_RESOURCE && !gf_agent_is_kept_out(agent); launches++) {
        status = until_running(agent, wait, why);
        if (status == GF_OK) {
            status = until_over(agent, gf_command_ring_put(&agent->ring, command), wait, why);
        }
    }
    agent->statistics.commands += status == GF_OK;
    agent->statistics.refused += status == GF_NO_RESOURCE;
    agent->returned_ns = gf_now_ns();
    pthread_mutex_unlock(&agent->use);
    return status;
}

/* It may leave by itself before it sees the command, or wait for its place on the device and leave when it has waited for a
 * first one in vain. */
static void send_away(gf_agent *agent)
{
    struct gf_command leave = { .kind = GF_COMMAND_LEAVE };

    if (!gf_command_ring_is_served(&agent->ring)) {
        return;
    }
    if (gf_command_ring_is_running(&agent->ring)) {
        gf_command_ring_put(&agent->ring, &leave);
    }
    gf_device_stream_sync(agent->device, agent->stream);
    gf_agent_return_posts(agent);
}

void gf_agent_dismiss(gf_agent *agent)
{
    if (!agent || pthread_mutex_trylock(&agent->use) != 0) {
        return;
    }
    send_away(agent);
    pthread_mutex_unlock(&agent->use);
}

struct gf_agent_statistics gf_agent_statistics_of(const gf_agent *agent)
{
    return agent->statistics;
}
