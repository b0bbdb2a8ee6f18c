/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines out, words in.
 */
#include "core/command_ring.h"

#include "core/host_ordered.h"
#include "kernels/ordered.h"

static uint64_t *line_of(const struct gf_command_ring *ring, uint64_t number)
{
    return ring->lines + number % GF_COMMANDS * GF_COMMAND_WORDS;
}

void gf_command_encode(const struct gf_command *command, uint64_t number, uint64_t words[GF_COMMAND_WORDS])
{
    union gf_command_line line = { .command = *command };

    for (int i = 0; i < GF_COMMAND_WORDS; i++) {
        words[i] = line.word[i] | (uint64_t)gf_command_flag(number) << 32;
    }
}

bool gf_command_ring_is_served(const struct gf_command_ring *ring)
{
    return gf_host_observe(ring->left) < ring->launched;
}

bool gf_command_ring_is_running(const struct gf_command_ring *ring)
{
    return gf_command_ring_is_served(ring) && gf_host_observe(ring->done) >= ring->launched;
}

/* The line is written for all that, since a line that was not written for many laps might have the flag of a command to come. */
uint64_t gf_command_ring_begin(struct gf_command_ring *ring)
{
    const struct gf_command nothing = { .kind = GF_COMMAND_NOTHING };

    ring->launched = gf_command_ring_put(ring, &nothing) + 1;
    return ring->launched - 1;
}

void gf_command_ring_take_back(struct gf_command_ring *ring)
{
    ring->launched = 0;
}

bool gf_command_ring_has_room(const struct gf_command_ring *ring)
{
    return ring->put < gf_host_observe(ring->done) + GF_COMMANDS;
}

/* Each word is a release of its own: the agent believes the line when it has seen them all, in whatever order. */
uint64_t gf_command_ring_put(struct gf_command_ring *ring, const struct gf_command *command)
{
    uint64_t words[GF_COMMAND_WORDS], *line = line_of(ring, ring->put);

    gf_command_encode(command, ring->put, words);
    for (int i = 0; i < GF_COMMAND_WORDS; i++) {
        gf_host_publish(&line[i], words[i]);
    }
    return ring->put++;
}

bool gf_command_ring_has_ended(const struct gf_command_ring *ring, uint64_t number)
{
    return gf_host_observe(ring->done) > number;
}

bool gf_command_ring_was_left(const struct gf_command_ring *ring, uint64_t number)
{
    uint64_t left = gf_host_observe(ring->left);

    return left >= ring->launched && left <= number;
}
