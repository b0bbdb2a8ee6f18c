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

bool gf_command_ring_is_served(const struct gf_command_ring *ring)
{
    return gf_host_observe(ring->left) < ring->launched;
}

/* A launch takes the command inside it before any other. */
bool gf_command_ring_is_running(const struct gf_command_ring *ring)
{
    return ring->launched > 0 && gf_host_observe(ring->done) >= ring->launched && gf_command_ring_is_served(ring);
}

uint64_t gf_command_ring_forsaken(const struct gf_command_ring *ring)
{
    uint64_t left = gf_host_observe(ring->left);

    return left < ring->launched ? ring->put : left;
}

bool gf_command_ring_needs_launch(struct gf_command_ring *ring, uint64_t *first, struct gf_command *command)
{
    union gf_command_line line;
    uint64_t left = gf_host_observe(ring->left);

    if (left < ring->launched || left == ring->put) {
        return false;
    }
    for (int i = 0; i < GF_COMMAND_WORDS; i++) {
        line.word[i] = (uint32_t)line_of(ring, left)[i];
    }
    *first = left;
    *command = line.command;
    ring->launched = left + 1;
    return true;
}

/* Its number will be given again. */
static void wipe(struct gf_command_ring *ring, uint64_t number)
{
    for (int i = 0; i < GF_COMMAND_WORDS; i++) {
        gf_host_publish(&line_of(ring, number)[i], 0);
    }
}

void gf_command_ring_take_back(struct gf_command_ring *ring)
{
    uint64_t left = gf_host_observe(ring->left);

    while (ring->put > left) {
        wipe(ring, --ring->put);
    }
    ring->launched = ring->put;
}
