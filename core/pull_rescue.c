/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that cannot start. The gate of such a launch is closed; once no block is inside, what the kernel has not finished is
 * given to the copy engine. The flight itself rests only when its kernel has come and gone: until then its blocks may load from
 * what is mapped, though they store nothing. All by queued copies and questions: nothing here waits.
 */
#include <stddef.h>

#include "core/host_ordered.h"
#include "core/pull_engine.h"

#define LOOK_INTERVAL_NS 10000000u

static gf_status read_word(gf_pull_engine *engine, struct gf_flight *flight, void *to, size_t offset, size_t bytes)
{
    return gf_device_copy(engine->device, engine->control, to, flight->gate + offset, bytes);
}

/* In this order: as many that have left as had entered later means that nobody is inside. */
static gf_status count_blocks(gf_pull_engine *engine, struct gf_flight *flight)
{
    struct gf_pull_words *words = engine->words;
    gf_status status = read_word(engine, flight, &words->left, offsetof(struct gf_pull_gate, left), sizeof words->left);

    return status != GF_OK ? status : read_word(engine, flight, &words->entered, offsetof(struct gf_pull_gate, entered),
                                                sizeof words->entered);
}

static gf_status close_gate(gf_pull_engine *engine, struct gf_flight *flight)
{
    engine->words->closed = (uint32_t)flight->ticket;
    gf_status status = gf_device_copy(engine->device, engine->control, flight->gate + offsetof(struct gf_pull_gate, closed),
                                      &engine->words->closed, sizeof engine->words->closed);

    return status != GF_OK ? status : count_blocks(engine, flight);
}

static gf_status read_finished(gf_pull_engine *engine, struct gf_flight *flight)
{
    return read_word(engine, flight, engine->words->finished, offsetof(struct gf_pull_gate, finished),
                     flight->count * sizeof engine->words->finished[0]);
}

/* The kernel has not moved this item, and will not. The flight keeps a use of the mapping: turned-away blocks load before they
 * know. */
static void hand_over(gf_pull_engine *engine, struct gf_flight *flight, struct gf_pull *pull)
{
    flight->places[pull->place].pull = NULL;
    flight->under_way--;
    if (pull->import) {
        gf_imports_share(engine->imports, pull->import);
    }
    pull->flight = NULL;
    pull->path = GF_PULL_COPY_ENGINE;
    pull->kept_out = true;
    engine->statistics.rescued++;
    gf_pull_put_back(engine, pull);
}

static void hand_over_unfinished(gf_pull_engine *engine, struct gf_flight *flight)
{
    for (uint32_t i = 0; i < flight->count; i++) {
        struct gf_pull *pull = flight->places[i].pull;

        if (pull && engine->words->finished[i] != flight->ticket) {
            hand_over(engine, flight, pull);
        }
    }
}

static void fail_flight(gf_pull_engine *engine, struct gf_flight *flight)
{
    if (flight->state == GF_FLIGHT_DRAINING) {
        engine->draining--;
    }
    if (engine->rescued == flight) {
        engine->rescued = NULL;
    }
    flight->state = GF_FLIGHT_DRAINING;    /* not to rest before all have been told */
    for (uint32_t i = 0; i < flight->count; i++) {
        struct gf_pull *pull = flight->places[i].pull;

        if (pull) {
            gf_pull_fail(engine, pull, GF_ERR_DEVICE);
        }
    }
    gf_flight_rest(engine, flight);
}

static void begin(gf_pull_engine *engine, struct gf_flight *flight)
{
    gf_flight_settle(engine, flight);
    if (flight->state != GF_FLIGHT_FLYING || engine->rescued) {
        return;
    }
    engine->rescued = flight;
    flight->state = GF_FLIGHT_CLOSING;
    if (close_gate(engine, flight) != GF_OK) {
        fail_flight(engine, flight);
    }
}

/* What was asked on the control stream has been answered. */
static void go_on(gf_pull_engine *engine, struct gf_flight *flight)
{
    gf_status status;

    if (flight->state == GF_FLIGHT_JUDGING) {
        hand_over_unfinished(engine, flight);
        engine->rescued = NULL;
        engine->draining++;
        flight->state = GF_FLIGHT_DRAINING;
        return;
    }
    if (engine->words->left == (uint32_t)engine->words->entered) {
        flight->state = GF_FLIGHT_JUDGING;
        status = read_finished(engine, flight);
    } else {
        status = count_blocks(engine, flight);
    }
    if (status != GF_OK) {
        fail_flight(engine, flight);
    }
}

/* Of a launch that was closed, items may be left whose parts have been counted in part. All else is as it must be; `closed`
 * above all stays, since the next launch may be closed before this fill is done. */
static gf_status clean_gate(gf_pull_engine *engine, struct gf_flight *flight)
{
    return gf_device_fill(engine->device, flight->stream, flight->gate + offsetof(struct gf_pull_gate, done), 0,
                          sizeof ((struct gf_pull_gate *)0)->done);
}

/* Its kernel has gone when the stream is empty; what it has finished, the peers' words say in a moment. */
static void drain(gf_pull_engine *engine, struct gf_flight *flight)
{
    gf_status status = gf_device_stream_query(engine->device, flight->stream);

    if (status == GF_IN_PROGRESS) {
        return;
    }
    gf_flight_settle(engine, flight);
    if (status == GF_OK && flight->under_way > 0) {
        return;
    }
    if (status == GF_OK) {
        status = clean_gate(engine, flight);
    }
    if (status != GF_OK) {
        fail_flight(engine, flight);
        return;
    }
    engine->draining--;
    gf_flight_rest(engine, flight);
}

bool gf_pull_device_is_full(gf_pull_engine *engine)
{
    for (int i = 0; i < GF_KERNEL_FLIGHTS && engine->draining > 0; i++) {
        if (engine->flights[i].state == GF_FLIGHT_DRAINING) {
            drain(engine, &engine->flights[i]);
        }
    }
    return engine->draining > 0;
}

/* Launches that move nothing are looked for, not those that take their time: what is under way may be in front of this one, and
 * peers may keep the device as busy as we do. So the time allowed is what start_us says, and eight times what all bytes under
 * way take at 2 TB/s, and what the turns of other processes on the GPU take; and it begins anew with each launch that ends. */
enum { BYTES_PER_NS = 250 };

static uint64_t patience_ns(const gf_pull_engine *engine)
{
    uint64_t bytes = 0;

    for (int i = 0; i < GF_KERNEL_FLIGHTS; i++) {
        bytes += engine->flights[i].state == GF_FLIGHT_FLYING ? engine->flights[i].bytes : 0;
    }
    uint64_t slices_us = engine->device->caps.concurrent_processes ? 0 : engine->config.slices_us;

    return (engine->config.start_us + slices_us) * 1000u + bytes / BYTES_PER_NS;
}

void gf_flights_restart_clocks(gf_pull_engine *engine, uint64_t now)
{
    for (int i = 0; i < GF_KERNEL_FLIGHTS; i++) {
        engine->flights[i].since_ns = now;
    }
    engine->moved_on = false;
}

void gf_flight_rescue(gf_pull_engine *engine, struct gf_flight *flight, uint64_t now)
{
    gf_status status;

    switch (flight->state) {
    case GF_FLIGHT_FLYING:
        if (now - flight->since_ns >= patience_ns(engine)) {
            begin(engine, flight);
        }
        break;
    case GF_FLIGHT_CLOSING:
    case GF_FLIGHT_JUDGING:
        status = gf_device_stream_query(engine->device, engine->control);
        if (status == GF_OK) {
            go_on(engine, flight);
        } else if (status != GF_IN_PROGRESS) {
            fail_flight(engine, flight);
        }
        break;
    case GF_FLIGHT_DRAINING:
        drain(engine, flight);
        break;
    case GF_FLIGHT_IDLE:
        break;
    }
}

void gf_flights_look(gf_pull_engine *engine, uint64_t now)
{
    if (now - engine->looked_ns < LOOK_INTERVAL_NS) {
        return;
    }
    engine->looked_ns = now;
    for (int i = GF_KERNEL_FLIGHTS; i < GF_FLIGHTS; i++) {
        struct gf_flight *flight = &engine->flights[i];
        gf_status status = flight->under_way > 0 ? gf_device_stream_query(engine->device, flight->stream) : GF_OK;

        if (status != GF_OK && status != GF_IN_PROGRESS) {
            fail_flight(engine, flight);
        }
    }
}
