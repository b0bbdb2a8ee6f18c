/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's half of the ring of commands into the agent (kernels/agent.h): writes lines, and finds out from the agent's two
 * words whether it runs, which commands have ended, and which one was not taken by an agent that is gone. Plain memory; launching
 * is the caller's.
 */
#ifndef GF_CORE_COMMAND_RING_H
#define GF_CORE_COMMAND_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/work.h"

/* Owned by the agent; one thread at a time. */
struct gf_command_ring {
    uint64_t *lines;               /* pinned, zero at first: GF_COMMANDS × GF_COMMAND_WORDS; only this side writes */
    const uint64_t *done, *left;   /* pinned, zero at first: of struct gf_agent_work; only the agent writes */
    uint64_t put;                  /* the number of the next command */
    uint64_t launched;             /* the last launch took all commands below this number when it began; 0: none was launched */
};

/* The words of a line, as command `number` of the ring. */
void gf_command_encode(const struct gf_command *command, uint64_t number, uint64_t words[GF_COMMAND_WORDS]);

/* Is a launch under way that has not said that it has left? It may leave at any moment all the same. */
bool gf_command_ring_is_served(const struct gf_command_ring *ring);

/* Is one under way that has begun, too? Only then may commands be put. */
bool gf_command_ring_is_running(const struct gf_command_ring *ring);

/* Nobody serves. Returns the number of the command that begins a launch, for which the caller now makes that launch, or calls
 * take_back. Commands that were left lying are passed over: a launch takes none from before its own number. */
uint64_t gf_command_ring_begin(struct gf_command_ring *ring);

/* That launch has failed. */
void gf_command_ring_take_back(struct gf_command_ring *ring);

/* Is a line free? Its last command must have ended. */
bool gf_command_ring_has_room(const struct gf_command_ring *ring);

/* Writes the command; the agent runs, and there is room. What the caller's thread has seen of device memory's contents the agent
 * will see. Returns its number. */
uint64_t gf_command_ring_put(struct gf_command_ring *ring, const struct gf_command *command);

/* Of a command that was put since the last launch: has it ended? Then its results are visible to all later work on the device. Or
 * was it left lying? Then it will never be taken. As long as neither is the case, it will come to one of them. */
bool gf_command_ring_has_ended(const struct gf_command_ring *ring, uint64_t number);
bool gf_command_ring_was_left(const struct gf_command_ring *ring, uint64_t number);

#endif
