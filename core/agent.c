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
    uint32_t *posted[GF_COMMANDS];         /* by line: whom to tell if the command is returned, or null */
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

/* How long it is to stay after the operation that begins now; 0: that is better launched. */
static uint32_t choose_linger(gf_agent *agent)
{
    uint64_t gap_us = (now_ns() - agent->returned_ns) / 1000;

    agent->linger_us = gf_linger_next(&agent->linger, gf_command_ring_is_served(&agent->ring), gap_us);
    return agent->broken ? 0 : agent->linger_us;
}

bool gf_agent_claim(gf_agent *agent)
{
    if (pthread_mutex_trylock(&agent->use) != 0) {
        return false;
    }
    if (choose_linger(agent) > 0) {
        return true;
    }
    pthread_mutex_unlock(&agent->use);
    return false;
}

/* returned: null for one that is waited for. */
static uint64_t put(gf_agent *agent, const struct gf_command *command, uint32_t *returned)
{
    agent->posted[agent->ring.put % GF_COMMANDS] = returned;
    return gf_command_ring_put(&agent->ring, command);
}

/* What a block that is gone has not taken goes back to those who posted it. */
static void return_forsaken(gf_agent *agent)
{
    for (uint64_t number = gf_command_ring_forsaken(&agent->ring); number < agent->ring.put; number++) {
        uint32_t *returned = agent->posted[number % GF_COMMANDS];

        if (returned) {
            gf_host_publish_flag(returned, 1);
        }
    }
    gf_command_ring_take_back(&agent->ring);
}

/* With one command that no launch has taken. */
static gf_status launch(gf_agent *agent, struct gf_reason *why)
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

/* Launches the agent where it is gone without that command, the last one of the ring. Those in front of it are not for the new
 * launch: who posted them does without. */
static gf_status serve(gf_agent *agent, const struct gf_command *command, uint64_t *number, struct gf_reason *why)
{
    if (gf_command_ring_forsaken(&agent->ring) > *number) {
        return GF_OK;
    }
    return_forsaken(agent);
    *number = put(agent, command, NULL);
    return launch(agent, why);
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

static gf_status run(gf_agent *agent, const struct gf_command *command, const struct gf_host_wait *wait, struct gf_reason *why)
{
    uint64_t number = put(agent, command, NULL);
    gf_status status = serve(agent, command, &number, why), cause = GF_OK;

    for (uint32_t turn = 1; status == GF_OK && !has_ended(agent, number); turn++) {
        if (wait && cause == GF_OK) {
            cause = wait->poll(wait->ctx, why);
        }
        status = serve(agent, command, &number, why);
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
    agent->statistics.commands++;
    gf_status status = run(agent, command, wait, why);

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
    put(agent, &leave, NULL);
    gf_device_stream_sync(agent->device, agent->stream);
    return_forsaken(agent);
}

void gf_agent_dismiss(gf_agent *agent)
{
    if (!agent || pthread_mutex_trylock(&agent->use) != 0) {
        return;
    }
    send_away(agent);
    pthread_mutex_unlock(&agent->use);
}

/* ---- commands that nobody waits for ---- */

/* Of the ring a line stays free, for gf_agent_run. */
static bool takes_posts(const gf_agent *agent)
{
    return gf_command_ring_is_running(&agent->ring) && agent->ring.put + 1 < gf_host_observe(agent->ring.done) + GF_COMMANDS;
}

bool gf_agent_post(gf_agent *agent, struct gf_command *command, uint32_t *returned)
{
    bool given = false;

    if (pthread_mutex_trylock(&agent->use) != 0) {
        return false;
    }
    if (choose_linger(agent) > 0 && takes_posts(agent)) {
        command->linger_us = (uint16_t)agent->linger_us;
        *returned = 0;
        put(agent, command, returned);
        agent->statistics.commands++;
        given = true;
    }
    agent->returned_ns = now_ns();
    pthread_mutex_unlock(&agent->use);
    return given;
}

void gf_agent_invite(gf_agent *agent)
{
    struct gf_command nothing = { .kind = GF_COMMAND_NOTHING };

    if (pthread_mutex_trylock(&agent->use) != 0) {
        return;
    }
    if (agent->linger_us > 0 && !agent->broken && !gf_command_ring_is_served(&agent->ring)) {
        return_forsaken(agent);
        nothing.linger_us = (uint16_t)agent->linger_us;
        put(agent, &nothing, NULL);
        agent->broken = launch(agent, NULL) != GF_OK;
    }
    pthread_mutex_unlock(&agent->use);
}

gf_status gf_agent_collect(gf_agent *agent)
{
    gf_status status;

    if (pthread_mutex_trylock(&agent->use) != 0) {
        return GF_OK;
    }
    if (!gf_command_ring_is_served(&agent->ring)) {
        return_forsaken(agent);
    }
    status = agent->broken ? GF_ERR_DEVICE : gf_device_stream_query(agent->device, agent->stream);
    agent->broken |= status != GF_OK && status != GF_IN_PROGRESS;
    pthread_mutex_unlock(&agent->use);
    return agent->broken ? GF_ERR_DEVICE : GF_OK;
}

struct gf_agent_statistics gf_agent_statistics_of(const gf_agent *agent)
{
    return agent->statistics;
}
