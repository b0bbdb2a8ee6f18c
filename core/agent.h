/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host side of the agent (kernels/agent.h): its memory, its launches, and how an operation is given to it.
 *
 * The agent is launched with an operation inside, so the first costs what a launch costs; those that come while it stays cost no
 * launch. It never stays longer than it was told with the last operation: whatever waits for the device, ours or the program's,
 * waits no longer than that. An operation that comes while the agent leaves, or while a full device keeps it from starting, is in
 * no other position than a launched one.
 *
 * Threads: any; an operation is given by who holds the agent (gf_agent_claim). Who cannot have it launches: so an operation never
 * waits behind another one, whose peers may wait for this one.
 */
#ifndef GF_CORE_AGENT_H
#define GF_CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/host_executor.h"
#include "core/linger.h"
#include "device/device.h"
#include "kernels/work.h"

typedef struct gf_agent gf_agent;

/* One a process and device. us: of GF_LINGER_FIXED. The device outlives it. */
gf_status gf_agent_create(gf_device *device, enum gf_linger_mode mode, uint32_t us, gf_agent **agent, struct gf_reason *why);
/* No call may be under way. Makes the agent leave and waits for that. Null is allowed. */
void gf_agent_destroy(gf_agent *agent);

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
 * of it is in the task's error word. wait: called now and then; what makes it fail makes the kernel leave too, so its failure
 * does not end the wait. Errors: GF_ERR_DEVICE and others, when the device is lost; nothing is under way then. */
gf_status gf_agent_run(gf_agent *agent, int table, struct gf_command *command, const struct gf_host_wait *wait,
                       struct gf_reason *why);

/* Commands that nobody waits for, whose end the caller learns by a word of their own, and which wait for no peer. They are given
 * to an agent that is at work already, never to a launch: that a full device does not let start. So nothing keeps them but what
 * was given before. False: do without, and gf_agent_invite then, if the next one shall find it. True: the command has its end, or
 * *returned becomes 1 in a call of this header; then it will never be done. `returned` stays where it is until either. */
bool gf_agent_post(gf_agent *agent, struct gf_command *command, uint32_t *returned);

/* Launches the agent with nothing to do, if it is not there and experience tells that it will be wanted. */
void gf_agent_invite(gf_agent *agent);

/* Returns posted commands that an agent has not taken which is gone. Asks the device, so not to be called all the time.
 * GF_ERR_DEVICE: the device has failed, and what was posted may never end. */
gf_status gf_agent_collect(gf_agent *agent);

/* Makes the agent leave and waits until it is gone, before something that waits for the device. Not while another thread uses
 * it. */
void gf_agent_dismiss(gf_agent *agent);

/* Since the agent was made. */
struct gf_agent_statistics {
    uint64_t launches, commands;
};
struct gf_agent_statistics gf_agent_statistics_of(const gf_agent *agent);

#endif
