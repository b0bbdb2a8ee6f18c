/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks of test_agent_kernel, a thread each: the hosts that give an agent commands and launch beside it, and the threads of their
 * kernels, go through a script.
 */
#ifndef GF_TESTS_AGENT_RANK_H
#define GF_TESTS_AGENT_RANK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/command_ring.h"
#include "kernels/emulated_table.h"
#include "kernels/team.h"

enum { RANKS = 3, COMMS = 2, MOST_MEMBERS = 6, MOST_BLOCKS = 3, STEPS = 80, MOST = 200, SLOT_BYTES = 16 * GF_LINE, BEGINS = 4,
       MOST_WISHES = GF_COMMANDS };

/* The flags of commands, and of those that are relayed, begin again with the command of this number. */
#define FLAGS_END ((uint64_t)GF_COMMANDS * GF_LL_EPOCH_LAST)

/* One allreduce of integers, the same on all ranks but for how each does it. */
struct step {
    uint32_t comm, count, blocks;
    bool renew;                    /* the communicator gets other slots first, and its table another number */
    bool together;                 /* does not wait for its end before the next step */
    bool launched[RANKS], slowly[RANKS];
    uint32_t linger_us[RANKS], pause_us[RANKS];
    int32_t send[RANKS][MOST], recv[RANKS][MOST];
};

struct script {
    struct step step[STEPS];
    uint64_t seed, deadline_ns;
    uint32_t team;                 /* threads of a block; of two each reduces what it has gathered: EARLY_RESULT needs three */
    pthread_barrier_t renewal;
    char slots[2][COMMS][RANKS][RANKS][2 * SLOT_BYTES] __attribute__((aligned(GF_LINE)));    /* [receiver][sender] */
    uint32_t abort;
    bool failed;
};

struct member {
    pthread_t id;
    struct gf_block *block;
    enum gf_kernel kernel;
    uint32_t number, blocks, thread;
    const void *work;
};

struct wish {
    const struct step *step;
    struct gf_command command;
    uint64_t number;
    bool slowly;
};

/* The host of a rank, and its device. */
struct rank {
    uint64_t lines[GF_COMMANDS * GF_COMMAND_WORDS] __attribute__((aligned(GF_LINE)));
    uint64_t done __attribute__((aligned(GF_LINE)));
    uint64_t left __attribute__((aligned(GF_LINE)));
    struct gf_agent_relay relay __attribute__((aligned(GF_LINE)));
    struct gf_one_shot_work tables[GF_AGENT_TABLES];
    struct gf_command_ring ring;
    struct script *script;
    pthread_t id;
    uint32_t me, error;
    uint32_t table[COMMS], epoch[COMMS];
    struct gf_block *agent[MOST_BLOCKS], *others[MOST_BLOCKS];
    uint32_t agent_blocks;
    struct member team[MOST_MEMBERS];
    struct wish wishes[MOST_WISHES];    /* commands that have not ended, in order; the first `given` were put */
    int wished, given;
    size_t wrong;                  /* elements, when the host knew the end */
    struct gf_agent_work work;
    uint64_t random;
    uint32_t launches;
    bool running;
};

/* From 0 to below - 1; *state is advanced. */
uint64_t agent_random(uint64_t *state, uint64_t below);

/* Elements of this rank's result of a step that are not as they must be. */
size_t agent_count_wrong(const struct step *s, uint32_t me);

/* A struct rank, through the whole script; ends early when a wait has taken too long. For pthread_create. */
void *agent_be_rank(void *argument);

#endif
