/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host side of the agent (kernels/agent.h): its memory, its launches, and how an operation is given to it.
 *
 * Operations are given to an agent that runs. The first has it launched, and costs what a launch costs and half as much more;
 * those that come while it stays cost no launch. It never stays longer than it was told with the last operation: whatever waits
 * for the device, ours or the program's, waits no longer than that. Where a full device keeps it from starting, operations come
 * back to the caller, who has another way (core/played.h): at once, as long as that launch has not found its place.
 *
 * Threads: any; an operation is given by who holds the agent (gf_agent_claim). Who cannot have it launches: so an operation never
 * waits behind another one, whose peers may wait for this one.
 */
#ifndef GF_CORE_AGENT_H
#define GF_CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/config.h"
#include "core/host_executor.h"
#include "core/linger.h"
#include "device/device.h"
#include "kernels/work.h"

typedef struct gf_agent gf_agent;

/* One a process and device, as the settings' agent… say. The device outlives it. */
gf_status gf_agent_create(gf_device *device, const struct gf_config *config, gf_agent **agent, struct gf_reason *why);
/* No call may be under way. Makes the agent leave and waits for that. Null is allowed. */
void gf_agent_destroy(gf_agent *agent);

/* A communicator's share of the device has so many blocks for an agent. Where the settings do not say how many there are,
 * launches have the least of what communicators have said, and one until the first has. Any thread. */
void gf_agent_allow_blocks(gf_agent *agent, int blocks);

enum { GF_AGENT_UNKNOWN = -1 };

/* Tells the agent of a communicator's connections: task (abort, error, deadline, rank and ranks), slot_bytes and peers of `work`.
 * *table names them in commands, until gf_agent_forget. stream: the caller's, for a copy that is waited for. GF_NO_RESOURCE:
 * as many communicators as it can know use it already. */
gf_status gf_agent_introduce(gf_agent *agent, gf_stream *stream, const struct gf_one_shot_work *work, int *table,
                             struct gf_reason *why);
/* No operation of that communicator is under way. GF_AGENT_UNKNOWN is allowed. */
void gf_agent_forget(gf_agent *agent, int table);

/* May this call use the agent? False: another thread does, or it is not worth while: launch. True: gf_agent_run must follow. */
bool gf_agent_claim(gf_agent *agent);

/* Gives the command (kind, type, op, blocks, send, recv, count, epoch) to the agent and waits for its end; what the kernel says
 * of it is in the task's error word. wait: called now and then, or null; what makes it fail makes the kernel leave too, so its
 * failure does not end the wait for a command that was given. GF_NO_RESOURCE: the agent does not come to run; the command was
 * not taken and will not be. Errors: GF_ERR_DEVICE and others, when the device is lost, or of `wait`; nothing is under way then.
 * */
gf_status gf_agent_run(gf_agent *agent, int table, struct gf_command *command, const struct gf_host_wait *wait,
                       struct gf_reason *why);

/* Commands that wait for no peer, and that nobody waits for: what they do they tell by words of their own. Any thread.
 *
 * gf_agent_post gives one to an agent that runs; false: to none, do it another way. *returned, 0 at first, becomes 1 where the
 * agent has left without it; then it will not be done. gf_agent_collect finds that out; GF_ERR_DEVICE: the device is lost.
 * gf_agent_invite launches the agent, if it is worth while, for commands to come. */
bool gf_agent_post(gf_agent *agent, struct gf_command *command, uint32_t *returned);
gf_status gf_agent_collect(gf_agent *agent);
void gf_agent_invite(gf_agent *agent);

/* Makes the agent leave and waits until it is gone, before something that waits for the device. Not while another thread uses
 * it. */
void gf_agent_dismiss(gf_agent *agent);

/* Since the agent was made. */
struct gf_agent_statistics {
    uint64_t launches;
    uint64_t commands;             /* that it did, */
    uint64_t refused;              /* and that came back, since it did not run */
};
struct gf_agent_statistics gf_agent_statistics_of(const gf_agent *agent);

#endif
