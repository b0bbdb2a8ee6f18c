/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent's memory and life, and the tables by which it knows communicators.
 */
#include "core/agent_private.h"

#include <stdlib.h>
#include <string.h>

enum {
    TABLES_BYTES = GF_AGENT_TABLES * sizeof(struct gf_one_shot_work),
    RELAY_AT = (TABLES_BYTES + GF_LINE - 1) / GF_LINE * GF_LINE,
    MEMORY_BYTES = RELAY_AT + sizeof(struct gf_agent_relay)
};

static gf_status create_memory(gf_agent *agent, struct gf_reason *why)
{
    gf_device *device = agent->device;
    void *address;
    gf_status status = gf_device_pinned_alloc(device, GF_AGENT_WORDS_BYTES, &address, why);

    if (status != GF_OK) {
        return status;
    }
    agent->words = address;
    agent->kernel_words = gf_device_kernel_address(device, address);
    status = gf_device_alloc(device, MEMORY_BYTES, &address, why);
    if (status != GF_OK) {
        return status;
    }
    agent->memory = address;
    char *kernel_memory = gf_device_kernel_address(device, address);

    if (!agent->kernel_words || !kernel_memory) {
        gf_reason_set(why, "kernels cannot reach pinned host memory on this device");
        return GF_ERR_UNSUPPORTED;
    }
    agent->kernel_tables = (struct gf_one_shot_work *)(void *)kernel_memory;
    agent->kernel_relay = (struct gf_agent_relay *)(void *)(kernel_memory + RELAY_AT);
    agent->ring = (struct gf_command_ring){
        .lines = (uint64_t *)(void *)agent->words, .done = (uint64_t *)(void *)(agent->words + GF_AGENT_DONE),
        .left = (uint64_t *)(void *)(agent->words + GF_AGENT_LEFT),
    };
    status = gf_device_fill(device, agent->stream, address, 0, MEMORY_BYTES);
    if (status == GF_OK) {
        status = gf_device_stream_sync(device, agent->stream);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "the agent's device memory could not be zeroed: %s", gf_status_string(status));
    }
    return status;
}

gf_status gf_agent_create(gf_device *device, const struct gf_config *config, gf_agent **made, struct gf_reason *why)
{
    gf_agent *agent = calloc(1, sizeof *agent);

    *made = NULL;
    if (!agent) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    agent->device = device;
    agent->by_share = config->agent_blocks == 0;
    agent->blocks = agent->by_share ? 1 : config->agent_blocks;
    agent->start_ns = config->agent_start_us * 1000ull;
    agent->stages = config->stages;
    pthread_mutex_init(&agent->use, NULL);
    pthread_mutex_init(&agent->tables_lock, NULL);
    gf_linger_init(&agent->linger, config->agent == GF_AGENT_FIXED ? GF_LINGER_FIXED : GF_LINGER_AUTO, config->agent_us);
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

void gf_agent_allow_blocks(gf_agent *agent, int blocks)
{
    pthread_mutex_lock(&agent->tables_lock);
    if (agent->by_share && (!agent->allowed || blocks < agent->blocks)) {
        __atomic_store_n(&agent->blocks, blocks, __ATOMIC_RELAXED);
        agent->allowed = true;
    }
    pthread_mutex_unlock(&agent->tables_lock);
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
    if (agent->memory) {
        gf_device_free(agent->device, agent->memory);
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
    void *image = agent->words + GF_AGENT_TABLE_IMAGE;

    memcpy(image, work, sizeof *work);
    gf_status status = gf_device_copy(agent->device, stream, agent->memory + (size_t)place * sizeof *work, image, sizeof *work);

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
