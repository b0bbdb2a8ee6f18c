/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory, launches and waits of the agent.
 */
#include "core/agent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/command_ring.h"
#include "core/host_ordered.h"

/* Pinned: the lines, then done and left on lines of their own, then an image of a table on its way to the device. */
enum {
    RING_BYTES = GF_COMMANDS * GF_COMMAND_WORDS * sizeof(uint64_t),
    DONE_LINE = RING_BYTES,
    LEFT_LINE = DONE_LINE + GF_LINE,
    TABLE_IMAGE = LEFT_LINE + GF_LINE,
    WORDS_BYTES = TABLE_IMAGE + sizeof(struct gf_one_shot_work)
};

/* As in core/execute.c. */
enum { LOOKS_PER_TURN = 256, TURNS_PER_QUERY = 4096 };

struct gf_agent {
    gf_device *device;
    gf_stream *stream;
    char *words, *kernel_words;            /* pinned */
    char *tables;                          /* device memory, user address */
    struct gf_one_shot_work *kernel_tables;
    pthread_mutex_t use;                   /* whoever holds it gives commands; protects what follows */
    struct gf_command_ring ring;
    struct gf_linger linger;
    uint64_t returned_ns;                  /* when the last operation ended */
    uint32_t linger_us;                    /* of the operation that was claimed */
    bool broken;                           /* the device has failed while it was at work */
    struct gf_agent_statistics statistics;
    pthread_mutex_t tables_lock;           /* protects what follows, and the image */
    bool taken[GF_AGENT_TABLES];
    uint32_t uses[GF_AGENT_TABLES];        /* how often it was introduced */
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static gf_status create_memory(gf_agent *agent, struct gf_reason *why)
{
    gf_device *device = agent->device;
    void *address;
    gf_status status = gf_device_pinned_alloc(device, WORDS_BYTES, &address, why);

    if (status != GF_OK) {
        return status;
    }
    agent->words = address;
    agent->kernel_words = gf_device_kernel_address(device, address);
    status = gf_device_alloc(device, GF_AGENT_TABLES * sizeof *agent->kernel_tables, &address, why);
    if (status != GF_OK) {
        return status;
    }
    agent->tables = address;
    agent->kernel_tables = gf_device_kernel_address(device, address);
    if (!agent->kernel_words || !agent->kernel_tables) {
        gf_reason_set(why, "kernels cannot reach pinned host memory on this device");
        return GF_ERR_UNSUPPORTED;
    }
    agent->ring = (struct gf_command_ring){
        .lines = (uint64_t *)(void *)agent->words, .done = (uint64_t *)(void *)(agent->words + DONE_LINE),
        .left = (uint64_t *)(void *)(agent->words + LEFT_LINE),
    };
    return GF_OK;
}

gf_status gf_agent_create(gf_device *device, enum gf_linger_mode mode, uint32_t us, gf_agent **made, struct gf_reason *why)
{
    gf_agent *agent = calloc(1, sizeof *agent);

    *made = NULL;
    if (!agent) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    agent->device = device;
    pthread_mutex_init(&agent->use, NULL);
    pthread_mutex_init(&agent->tables_lock, NULL);
    gf_linger_init(&agent->linger, mode, us);
    gf_status status = gf_device_stream_create(device, &agent->stream, why);

    if (status == GF_OK) {
        status = create_memory(agent, why);
    }
    if (status != GF_OK) {
        gf_agent_destroy(agent);
        return status;
    }
    *made = agent;
    return GF_OK;
}

void gf_agent_destroy(gf_agent *agent)
{
    if (!agent) {
        return;
    }
    if (agent->ring.lines) {
        gf_agent_dismiss(agent);
    }
    if (agent->stream) {
        gf_device_stream_destroy(agent->device, agent->stream);
    }
    if (agent->tables) {
        gf_device_free(agent->device, agent->tables);
    }
    if (agent->words) {
        gf_device_pinned_free(agent->device, agent->words);
    }
    pthread_mutex_destroy(&agent->tables_lock);
    pthread_mutex_destroy(&agent->use);
    free(agent);
}

/* ---- tables ---- */

static int find_free(const gf_agent *agent)
{
    for (int i = 0; i < GF_AGENT_TABLES; i++) {
        if (!agent->taken[i]) {
            return i;
        }
    }
    return GF_AGENT_UNKNOWN;
}

/* What the agent holds of an earlier user of this place it knows by another number. Those repeat after as many uses as fit 16
 * bits beside the place: then it is sent away, and starts anew with nothing. */
static int name_of(gf_agent *agent, int place)
{
    uint32_t uses = UINT16_MAX / GF_AGENT_TABLES + 1, use = agent->uses[place]++ % uses;

    if (use == 0) {
        gf_agent_dismiss(agent);
    }
    return (int)(use * GF_AGENT_TABLES) + place;
}

static gf_status send_table(gf_agent *agent, gf_stream *stream, const struct gf_one_shot_work *work, int place)
{
    void *image = agent->words + TABLE_IMAGE;

    memcpy(image, work, sizeof *work);
    gf_status status = gf_device_copy(agent->device, stream, agent->tables + (size_t)place * sizeof *work, image, sizeof *work);

    return status == GF_OK ? gf_device_stream_sync(agent->device, stream) : status;
}

gf_status gf_agent_introduce(gf_agent *agent, gf_stream *stream, const struct gf_one_shot_work *work, int *table,
                             struct gf_reason *why)
{
    gf_status status = GF_NO_RESOURCE;

    *table = GF_AGENT_UNKNOWN;
    pthread_mutex_lock(&agent->tables_lock);
    int place = find_free(agent);

    if (place == GF_AGENT_UNKNOWN) {
        gf_reason_set(why, "the agent serves %d communicators already", GF_AGENT_TABLES);
    } else {
        struct gf_one_shot_work entry = *work;

        entry.pieces = 1;
        status = send_table(agent, stream, &entry, place);
        gf_reason_set(why, "the agent's table could not be written: %s", gf_status_string(status));
    }
    if (status == GF_OK) {
        agent->taken[place] = true;
        *table = name_of(agent, place);
    }
    pthread_mutex_unlock(&agent->tables_lock);
    return status;
}

void gf_agent_forget(gf_agent *agent, int table)
{
    if (!agent || table == GF_AGENT_UNKNOWN) {
        return;
    }
    pthread_mutex_lock(&agent->tables_lock);
    agent->taken[table % GF_AGENT_TABLES] = false;
    pthread_mutex_unlock(&agent->tables_lock);
}

/* ---- commands ---- */

bool gf_agent_claim(gf_agent *agent)
{
    if (pthread_mutex_trylock(&agent->use) != 0) {
        return false;
    }
    uint64_t gap_us = (now_ns() - agent->returned_ns) / 1000;

    agent->linger_us = gf_linger_next(&agent->linger, gf_command_ring_is_served(&agent->ring), gap_us);
    if (agent->linger_us > 0 && !agent->broken) {
        return true;
    }
    pthread_mutex_unlock(&agent->use);
    return false;
}

/* Launches the agent where nobody is there to take a command. */
static gf_status serve(gf_agent *agent, struct gf_reason *why)
{
    struct gf_agent_work work = {
        .ring = (const uint64_t *)(const void *)agent->kernel_words,
        .done = (uint64_t *)(void *)(agent->kernel_words + DONE_LINE),
        .left = (uint64_t *)(void *)(agent->kernel_words + LEFT_LINE),
        .tables = agent->kernel_tables,
    };

    if (!gf_command_ring_needs_launch(&agent->ring, &work.first, &work.command)) {
        return GF_OK;
    }
    gf_status status = gf_device_launch(agent->device, agent->stream, GF_KERNEL_AGENT, 1, GF_BLOCK_THREADS, &work, sizeof work,
                                        why);

    if (status != GF_OK) {
        gf_command_ring_take_back(&agent->ring);
        return status == GF_ERR_UNSUPPORTED ? GF_ERR_DEVICE : status;
    }
    agent->statistics.launches++;
    return GF_OK;
}

static bool has_ended(const gf_agent *agent, uint64_t number)
{
    for (int look = 0; look < LOOKS_PER_TURN; look++) {
        if (gf_command_ring_has_ended(&agent->ring, number)) {
            return true;
        }
    }
    return false;
}

/* A launch that the device has ended has also said that it left. */
static gf_status ask_stream(gf_agent *agent, uint64_t number, struct gf_reason *why)
{
    gf_status status = gf_device_stream_query(agent->device, agent->stream);

    if (status == GF_IN_PROGRESS) {
        return GF_OK;
    }
    if (status == GF_OK && (gf_command_ring_has_ended(&agent->ring, number) || !gf_command_ring_is_served(&agent->ring))) {
        return GF_OK;
    }
    gf_reason_set(why, "the device reported a failure while the agent was at work (%s): look for an invalid access in the "
                  "program's own kernels too", status == GF_OK ? "it ended" : gf_status_string(status));
    return GF_ERR_DEVICE;
}

static gf_status await(gf_agent *agent, uint64_t number, const struct gf_host_wait *wait, struct gf_reason *why)
{
    gf_status status = serve(agent, why), cause = GF_OK;

    for (uint32_t turn = 1; status == GF_OK && !has_ended(agent, number); turn++) {
        if (wait && cause == GF_OK) {
            cause = wait->poll(wait->ctx, why);
        }
        status = serve(agent, why);
        if (status == GF_OK && turn % TURNS_PER_QUERY == 0) {
            status = ask_stream(agent, number, why);
        }
    }
    return status;
}

gf_status gf_agent_run(gf_agent *agent, int table, struct gf_command *command, const struct gf_host_wait *wait,
                       struct gf_reason *why)
{
    command->table = (uint16_t)table;
    command->linger_us = (uint16_t)agent->linger_us;
    uint64_t number = gf_command_ring_put(&agent->ring, command);

    agent->statistics.commands++;
    gf_status status = await(agent, number, wait, why);

    agent->broken = status != GF_OK;
    agent->returned_ns = now_ns();
    pthread_mutex_unlock(&agent->use);
    return status;
}

/* It may leave by itself before it sees the command, which then goes with it. */
static void send_away(gf_agent *agent)
{
    struct gf_command leave = { .kind = GF_COMMAND_LEAVE };

    if (!gf_command_ring_is_served(&agent->ring)) {
        return;
    }
    gf_command_ring_put(&agent->ring, &leave);
    gf_device_stream_sync(agent->device, agent->stream);
    gf_command_ring_take_back(&agent->ring);
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
