/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's half of the ring of commands into the agent (kernels/agent.h): writes lines, and finds out from the agent's two
 * words which commands have ended and whether one was left lying by a block that is gone. Plain memory; launching is the
 * caller's.
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
    uint64_t launched;             /* one more than the number of the command inside the last launch; 0: none was launched */
};

/* The words of a line, as command `number` of the ring. */
void gf_command_encode(const struct gf_command *command, uint64_t number, uint64_t words[GF_COMMAND_WORDS]);

/* Is a line free? Its last command must have ended. */
bool gf_command_ring_has_room(const struct gf_command_ring *ring);

/* Writes the command; there is room. What the caller's thread has seen of device memory's contents the agent will see. Returns
 * its number. */
uint64_t gf_command_ring_put(struct gf_command_ring *ring, const struct gf_command *command);

/* Has the command ended? Then its results are visible to all later work on the device. */
bool gf_command_ring_has_ended(const struct gf_command_ring *ring, uint64_t number);

/* Is a launch under way that has not said that it has left? It may leave at any moment all the same. */
bool gf_command_ring_is_served(const struct gf_command_ring *ring);

/* Has that launch begun to work, so that it takes what comes unless it leaves first? */
bool gf_command_ring_is_running(const struct gf_command_ring *ring);

/* The number of the first command that no launch will take, unless it is launched again; the next number: there is none. */
uint64_t gf_command_ring_forsaken(const struct gf_command_ring *ring);

/* Is there a command that no launch has taken, and none to take it? Then the caller launches the agent with *first and
 * *command at once, in stream order behind all its launches so far, or calls take_back. */
bool gf_command_ring_needs_launch(struct gf_command_ring *ring, uint64_t *first, struct gf_command *command);

/* That launch has failed, or all launches are over: forgets all commands that were not taken. */
void gf_command_ring_take_back(struct gf_command_ring *ring);

#endif
