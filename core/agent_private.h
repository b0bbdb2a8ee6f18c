/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the agent's host side, for the files of core/ that make it (agent.c) and that give commands to it.
 */
#ifndef GF_CORE_AGENT_PRIVATE_H
#define GF_CORE_AGENT_PRIVATE_H

#include <pthread.h>

#include "core/agent.h"
#include "core/command_ring.h"

/* A command that nobody waits for, on the line that it was put on. */
struct gf_agent_post {
    uint64_t number;
    uint32_t *returned;                    /* null: none, or waited for */
};

struct gf_agent {
    gf_device *device;
    gf_stream *stream;
    bool by_share;                         /* `blocks` follows what communicators allow; */
    bool allowed;                          /* one of them has; tables_lock protects it */
    int blocks;                            /* of a launch; atomic */
    struct gf_fault *stages;               /* of the settings, or null */
    uint64_t start_ns;                     /* how long a launch may take to begin, before others do its work */
    char *words, *kernel_words;            /* pinned */
    char *memory;                          /* device memory, user address: the tables, then the relay */
    struct gf_one_shot_work *kernel_tables;
    struct gf_agent_relay *kernel_relay;
    pthread_mutex_t use;                   /* whoever holds it gives commands; protects what follows */
    struct gf_command_ring ring;
    struct gf_linger linger;
    uint64_t launched_ns;                  /* when the last launch was queued */
    uint64_t returned_ns;                  /* when the last operation ended */
    uint32_t linger_us;                    /* of the operation that was claimed */
    struct gf_agent_post posted[GF_COMMANDS];
    bool broken;                           /* the device has failed while it was at work */
    struct gf_agent_statistics statistics;
    pthread_mutex_t tables_lock;           /* protects what follows, and the image */
    bool taken[GF_AGENT_TABLES];
    uint32_t uses[GF_AGENT_TABLES];        /* how often it was introduced */
};

/* Pinned: the lines, then done and left on lines of their own, then an image of a table on its way to the device. */
enum {
    GF_AGENT_DONE = GF_COMMANDS * GF_COMMAND_WORDS * sizeof(uint64_t),
    GF_AGENT_LEFT = GF_AGENT_DONE + GF_LINE,
    GF_AGENT_TABLE_IMAGE = GF_AGENT_LEFT + GF_LINE,
    GF_AGENT_WORDS_BYTES = GF_AGENT_TABLE_IMAGE + sizeof(struct gf_one_shot_work)
};

/* All with `use` held. */

/* How long the agent is to stay after the operation that begins now; 0: that is better launched. */
uint32_t gf_agent_choose_linger(gf_agent *agent);

/* Launches it if nobody serves. GF_OK says nothing about when it will begin. */
gf_status gf_agent_summon(gf_agent *agent, struct gf_reason *why);

/* Tells who has posted what a launch that is over has left lying. */
void gf_agent_return_posts(gf_agent *agent);

/* Has a launch waited longer for its place on the device than is allowed? */
bool gf_agent_is_kept_out(const gf_agent *agent);

#endif
