/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pull engine: its life, and how a pull starts and ends.
 */
#include "core/pull.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/pull_engine.h"

/* Reading the clock takes as long as a turn of progress does otherwise. */
enum { TURNS_PER_LOOK = 8 };

/* Two blocks of this kernel fit on a multiprocessor, which caps.blocks counts once. The emulated device runs no more than it
 * says. */
static uint32_t blocks_of(const gf_device *device)
{
    return (uint32_t)device->caps.blocks * (device->caps.host_types ? 1 : 2);
}

static gf_status create_words(gf_pull_engine *engine, struct gf_reason *why)
{
    gf_device *device = engine->device;
    size_t bytes = GF_KERNEL_FLIGHTS * sizeof(struct gf_pull_gate) + GF_LINE;
    size_t pinned = sizeof *engine->words + GF_COPY_FLIGHTS * GF_PULL_BOUNCE_BYTES;
    void *address = NULL;

    if (!engine->flights[0].stream) {
        return GF_OK;                                         /* gf_pull_copy does without */
    }
    gf_status status = gf_device_pinned_alloc(device, pinned, &address, why);

    if (status != GF_OK) {
        return status == GF_ERR_NO_MEMORY ? GF_OK : status;
    }
    engine->words = address;
    for (int i = 0; i < GF_COPY_FLIGHTS; i++) {
        engine->flights[GF_KERNEL_FLIGHTS + i].bounce = (char *)(engine->words + 1) + (size_t)i * GF_PULL_BOUNCE_BYTES;
    }
    engine->words->end = GF_PULL_END;
    status = gf_device_alloc(device, bytes, &address, why);
    if (status != GF_OK) {
        return status == GF_ERR_NO_MEMORY ? GF_OK : status;
    }
    engine->device_words = address;
    engine->end_word = engine->device_words + GF_KERNEL_FLIGHTS * sizeof(struct gf_pull_gate);
    for (int i = 0; i < GF_KERNEL_FLIGHTS; i++) {
        engine->flights[i].gate = engine->device_words + (size_t)i * sizeof(struct gf_pull_gate);
        engine->flights[i].kernel_gate = gf_device_kernel_address(device, engine->flights[i].gate);
    }
    status = gf_device_fill(device, engine->control, engine->device_words, 0, bytes);
    if (status == GF_OK) {
        status = gf_device_copy(device, engine->control, engine->end_word, &engine->words->end, sizeof engine->words->end);
    }
    if (status == GF_OK) {
        status = gf_device_stream_sync(device, engine->control);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "device memory could not be prepared for messages: %s", gf_status_string(status));
    }
    return status;
}

gf_status gf_pull_engine_create(struct gf_imports *imports, const struct gf_pull_config *config, gf_pull_engine **made,
                                struct gf_reason *why)
{
    gf_pull_engine *engine = calloc(1, sizeof *engine);

    *made = NULL;
    if (!engine) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    engine->device = imports->device;
    engine->imports = imports;
    engine->config = *config;
    engine->pid = (int32_t)getpid();
    engine->blocks = blocks_of(engine->device);
    engine->waiting.last = &engine->waiting.first;
    gf_status status = gf_pull_flights_open(engine, why);

    if (status == GF_OK) {
        status = create_words(engine, why);
    }
    if (status != GF_OK) {
        gf_pull_engine_destroy(engine);
        return status;
    }
    *made = engine;
    return GF_OK;
}

static void finish_all(gf_pull_engine *engine)
{
    while (engine->flying > 0 || engine->waiting.first || engine->posted_count > 0) {
        gf_pull_engine_progress(engine);
        for (int i = 0; i < GF_FLIGHTS; i++) {
            gf_flight_settle(engine, &engine->flights[i]);
        }
    }
}

void gf_pull_engine_destroy(gf_pull_engine *engine)
{
    if (!engine) {
        return;
    }
    finish_all(engine);
    gf_pull_flights_close(engine);
    gf_attached_clear(engine);
    if (engine->device_words) {
        gf_device_free(engine->device, engine->device_words);
    }
    if (engine->words) {
        gf_device_pinned_free(engine->device, engine->words);
    }
    free(engine);
}

static bool same_device(const gf_pull_engine *engine, const struct gf_pull *pull)
{
    return pull->import ? pull->import->same_device
                        : memcmp(pull->offer->buffer.uuid, engine->device->caps.uuid, sizeof pull->offer->buffer.uuid) == 0;
}

/* All offers of a board are of one device, so a later use of this one says the same. */
enum gf_sharing gf_pull_sharing(const gf_pull_engine *engine, const struct gf_pull *pull)
{
    return same_device(engine, pull) ? GF_SHARING_SAME : GF_SHARING_OTHER;
}

/* Finds the offer and makes it ours: no longer OFFERED on return. */
static gf_status take_offer(gf_pull_engine *engine, const struct gf_offer_name *name, struct gf_attached **attached,
                            struct gf_pull *pull, struct gf_reason *why)
{
    gf_status status = gf_attached_get(engine, &name->board, attached, why);

    if (status != GF_OK) {
        return status == GF_ERR_UNSUPPORTED ? GF_ERR_PEER : status;
    }
    struct gf_offer *offer = name->index < GF_OFFERS ? &(*attached)->memory->offers[name->index] : NULL;
    uint64_t moved = gf_offer_word(name->generation, GF_OFFER_MOVED), taken = gf_offer_word(name->generation, GF_OFFER_TAKEN);

    if (offer && gf_host_move(&offer->state, gf_offer_word(name->generation, GF_OFFER_OFFERED), taken)) {
        pull->word = taken;
    } else if (offer && gf_host_observe(&offer->state) == moved) {
        pull->word = moved;
    } else {
        gf_reason_set(why, "process %" PRId32 " does not offer message %" PRIu32 " any more", name->board.pid, name->index);
        return GF_ERR_PEER;
    }
    pull->offer = offer;
    __atomic_store_n(&offer->taker, engine->pid, __ATOMIC_RELAXED);
    __atomic_store_n(&offer->sharing, gf_pull_sharing(engine, pull), __ATOMIC_RELAXED);
    pull->end = (uint64_t *)(void *)((*attached)->kernel_memory + ((char *)&offer->state - (char *)(*attached)->memory));
    return GF_OK;
}

static bool is_moved(const struct gf_pull *pull)
{
    return (pull->word & GF_OFFER_STATE_BITS) == GF_OFFER_MOVED;
}

/* Where the data are. */
static gf_status find_source(gf_pull_engine *engine, const struct gf_attached *attached, struct gf_pull *pull,
                             struct gf_reason *why)
{
    const struct gf_offer *offer = pull->offer;

    if (is_moved(pull)) {
        pull->from = attached->memory->slots[offer->slot];
        pull->kernel_from = attached->kernel_memory + ((const char *)pull->from - (const char *)attached->memory);
        return GF_OK;
    }
    if (attached->own) {
        /* By copy engine: nothing keeps the program from freeing what a kernel that was cancelled may still load from. */
        pull->from = (const void *)(uintptr_t)(offer->buffer.base + offer->offset);
        return GF_OK;
    }
    gf_status status = gf_imports_get(engine->imports, attached->memory->process, &offer->buffer, &pull->import, why);

    if (status == GF_OK) {
        pull->from = pull->import->address + offer->offset;
        pull->kernel_from = pull->import->kernel_address + offer->offset;
    }
    /* There is another way. */
    return status == GF_NO_RESOURCE || status == GF_ERR_NO_MEMORY ? GF_ERR_UNSUPPORTED : status;
}

static struct gf_pull_route route_of(const gf_pull_engine *engine, const struct gf_pull *pull)
{
    return (struct gf_pull_route){
        .bytes = pull->bytes, .same_device = same_device(engine, pull),
        .concurrent = engine->device->caps.concurrent_processes, .to_device = !pull->to_host,
    };
}

/* Where they go to, and so by which path. Kernels do not go through pages that may migrate or that the device does not reach.
 * */
static void choose_path(gf_pull_engine *engine, struct gf_pull *pull, const struct gf_pointer *where)
{
    pull->to_host = where->kind != GF_MEMORY_DEVICE;
    pull->path = GF_PULL_COPY_ENGINE;
    if (!pull->kernel_from || (where->kind != GF_MEMORY_DEVICE && where->kind != GF_MEMORY_PINNED)) {
        return;
    }
    struct gf_pull_route route = route_of(engine, pull);

    if (gf_pull_choose(&engine->config, &route) == GF_PULL_KERNEL) {
        pull->kernel_to = where->direct ? pull->to : gf_device_kernel_address(engine->device, pull->to);
        pull->path = pull->kernel_to ? GF_PULL_KERNEL : GF_PULL_COPY_ENGINE;
    }
}

static void end_by_host(struct gf_pull *pull)
{
    gf_host_publish(&pull->offer->state, GF_OFFER_DONE);
    pull->ended = true;
}

static gf_status look_at_target(gf_pull_engine *engine, const struct gf_pull *pull, struct gf_pointer *where,
                                struct gf_reason *why)
{
    gf_status status = gf_driver_pointer(engine->device->driver, pull->to, where);

    if (status != GF_OK || where->kind == GF_MEMORY_INVALID) {
        gf_reason_set(why, "%p is no memory that a message can be received into: it has been freed, or the device has failed",
                      pull->to);
        return status != GF_OK ? status : GF_ERR_INVALID;
    }
    return GF_OK;
}

static gf_status prepare(gf_pull_engine *engine, const struct gf_attached *attached, const struct gf_pointer *where,
                         struct gf_pull *pull, struct gf_reason *why)
{
    struct gf_pointer found;
    gf_status status = GF_OK;

    if (pull->bytes > pull->offer->bytes) {
        gf_reason_set(why, "%zu bytes of a message of %" PRIu64 " bytes were asked for", pull->bytes, pull->offer->bytes);
        return GF_ERR_INVALID;
    }
    if (pull->bytes == 0) {
        end_by_host(pull);
        return GF_OK;
    }
    if (!engine->control) {
        status = gf_device_stream_create(engine->device, &engine->control, why);
        if (status != GF_OK) {
            return status == GF_ERR_NO_MEMORY ? GF_ERR_UNSUPPORTED : status;
        }
    }
    if (!where) {
        status = look_at_target(engine, pull, &found, why);
        where = &found;
    }
    if (status == GF_OK) {
        status = find_source(engine, attached, pull, why);
    }
    if (status != GF_OK) {
        return status;
    }
    if (is_moved(pull) && (where->kind == GF_MEMORY_HOST || where->kind == GF_MEMORY_PINNED)) {
        memcpy(pull->to, pull->from, pull->bytes);
        pull->to_host = true;
        end_by_host(pull);
        return GF_OK;
    }
    if (!engine->device_words) {
        return gf_pull_copy(engine, pull, why);
    }
    choose_path(engine, pull, where);
    return GF_OK;
}

gf_status gf_pull_start(gf_pull_engine *engine, const struct gf_offer_name *name, void *to, const struct gf_pointer *where,
                        size_t bytes, struct gf_pull *pull, struct gf_reason *why)
{
    struct gf_attached *attached;

    *pull = (struct gf_pull){ .to = to, .bytes = bytes };
    gf_status status = take_offer(engine, name, &attached, pull, why);

    if (status != GF_OK) {
        return status;
    }
    status = prepare(engine, attached, where, pull, why);
    if (status != GF_OK) {
        gf_pull_fail(engine, pull, status);
        return status;
    }
    if (!pull->ended && !gf_pull_post(engine, pull)) {
        gf_pull_append(engine, pull);
    }
    return GF_OK;
}

gf_status gf_pull_poll(gf_pull_engine *engine, struct gf_pull *pull, struct gf_reason *why)
{
    if (!pull->ended) {
        if (gf_host_observe(&pull->offer->state) == pull->word) {
            return GF_IN_PROGRESS;
        }
        gf_pull_end(engine, pull, GF_OK);
    }
    if (pull->status != GF_OK) {
        gf_reason_set(why, "the device failed while it fetched a message of %zu bytes: %s", pull->bytes,
                      gf_status_string(pull->status));
    }
    return pull->status;
}

void gf_pull_explain_pull(const gf_pull_engine *engine, const struct gf_pull *pull, struct gf_reason *reason)
{
    if (pull->ended) {
        gf_reason_set(reason, pull->bytes == 0 ? "nothing is to be fetched"
                      : pull->to_host ? "by the CPU: it had waited, and its sender had moved it to shared host memory"
                      : "by copy engine, and waited for: the device is full");
        return;
    }
    struct gf_pull_route route = route_of(engine, pull);

    if (pull->posted) {
        gf_reason_set(reason, "by the agent, without a launch: at most %zu bytes", engine->config.agent_bytes);
    } else if (pull->path == GF_PULL_KERNEL && engine->draining > 0) {
        gf_reason_set(reason, "by copy engine: kernels of others fill the device");
    } else if (pull->path != gf_pull_choose(&engine->config, &route)) {
        gf_reason_set(reason, "by copy engine: no kernel reaches the memory of both ends");
    } else {
        gf_pull_explain(&engine->config, &route, reason);
    }
}

struct gf_pull_statistics gf_pull_engine_statistics(const gf_pull_engine *engine)
{
    return engine->statistics;
}

void gf_pull_engine_progress(gf_pull_engine *engine)
{
    if (engine->waiting.first) {
        gf_flights_launch(engine);
    }
    if (engine->invites) {
        engine->invites = false;
        gf_agent_invite(engine->agent);
    }
    if ((engine->flying == 0 && engine->posted_count == 0) || (!engine->rescued && ++engine->turns % TURNS_PER_LOOK != 0)) {
        return;
    }
    uint64_t now = gf_now_ns();

    if (engine->posted_count > 0) {
        gf_pull_look_after_agent(engine, now);
    }
    if (engine->moved_on) {
        gf_flights_restart_clocks(engine, now);
    }
    for (int i = 0; i < GF_KERNEL_FLIGHTS; i++) {
        if (engine->flights[i].state != GF_FLIGHT_IDLE) {
            gf_flight_rescue(engine, &engine->flights[i], now);
        }
    }
    gf_flights_look(engine, now);
}

bool gf_pull_engine_trails(const gf_pull_engine *engine)
{
    return __atomic_load_n(&engine->flying, __ATOMIC_RELAXED) > 0;
}

gf_status gf_pull_refuse(gf_pull_engine *engine, const struct gf_offer_name *name, struct gf_reason *why)
{
    struct gf_attached *attached;
    struct gf_pull pull = { 0 };
    gf_status status = take_offer(engine, name, &attached, &pull, why);

    if (status == GF_OK) {
        gf_pull_fail(engine, &pull, GF_ERR_PEER);
    }
    return status;
}
