/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launches of pulls: which go together, in which shape, and what happens at their end.
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "core/host_ordered.h"
#include "core/pull_engine.h"

/* Of one launch, apart from a message that is larger itself: a launch that takes long keeps later messages waiting. */
#define MOST_BYTES ((uint64_t)128 << 20)

gf_status gf_pull_flights_open(gf_pull_engine *engine, struct gf_reason *why)
{
    gf_status status = gf_device_stream_create(engine->device, &engine->control, why);
    gf_stream *launches = NULL, *copies = engine->control;

    if (status == GF_ERR_NO_MEMORY) {
        return GF_OK;              /* it can refuse messages, and tries again with each */
    }
    for (int i = 0; i < GF_FLIGHTS && status == GF_OK; i++) {
        struct gf_flight *flight = &engine->flights[i];
        gf_stream **last = i < GF_KERNEL_FLIGHTS ? &launches : &copies;

        status = gf_device_stream_create(engine->device, &flight->stream, why);
        flight->shares = status == GF_ERR_NO_MEMORY;
        if (flight->shares) {
            flight->stream = *last;
            status = GF_OK;
        }
        *last = flight->stream;
    }
    return status;
}

void gf_pull_flights_close(gf_pull_engine *engine)
{
    for (int i = 0; i < GF_FLIGHTS; i++) {
        if (engine->flights[i].stream && !engine->flights[i].shares) {
            gf_device_stream_destroy(engine->device, engine->flights[i].stream);
        }
    }
    if (engine->control) {
        gf_device_stream_destroy(engine->device, engine->control);
    }
}

void gf_flight_rest(gf_pull_engine *engine, struct gf_flight *flight)
{
    for (uint32_t i = 0; i < flight->count; i++) {
        gf_imports_put(engine->imports, flight->places[i].import);
    }
    flight->count = 0;
    flight->state = GF_FLIGHT_IDLE;
    __atomic_fetch_sub(&engine->flying, 1, __ATOMIC_RELAXED);
}

void gf_pull_end(gf_pull_engine *engine, struct gf_pull *pull, gf_status status)
{
    struct gf_flight *flight = pull->flight;

    pull->status = status;
    pull->ended = true;
    if (pull->posted) {
        gf_pull_unpost(engine, pull);
    }
    if (!flight) {
        gf_imports_put(engine->imports, pull->import);
        return;
    }
    flight->places[pull->place].pull = NULL;
    flight->under_way--;
    engine->moved_on |= flight->gate && flight->state == GF_FLIGHT_FLYING;
    if (flight->under_way == 0 && flight->state == GF_FLIGHT_FLYING) {
        gf_flight_rest(engine, flight);
    }
}

void gf_pull_fail(gf_pull_engine *engine, struct gf_pull *pull, gf_status status)
{
    pull->offer->failure = status;
    gf_host_publish(&pull->offer->state, GF_OFFER_FAILED);
    gf_pull_end(engine, pull, status);
}

gf_status gf_pull_copy(gf_pull_engine *engine, struct gf_pull *pull, struct gf_reason *why)
{
    gf_status status = gf_device_copy(engine->device, engine->control, pull->to, pull->from, pull->bytes);

    if (status == GF_OK) {
        status = gf_device_stream_sync(engine->device, engine->control);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "the device failed while it copied a message of %zu bytes: %s", pull->bytes, gf_status_string(status));
        return status;
    }
    gf_host_publish(&pull->offer->state, GF_OFFER_DONE);
    gf_pull_end(engine, pull, GF_OK);
    pull->import = NULL;               /* it may go */
    return GF_OK;
}

void gf_flight_settle(gf_pull_engine *engine, struct gf_flight *flight)
{
    for (uint32_t i = 0; i < flight->count; i++) {
        struct gf_pull *pull = flight->places[i].pull;

        if (pull && gf_host_observe(&pull->offer->state) != pull->word) {
            gf_pull_end(engine, pull, GF_OK);
        }
    }
}

static void take_place(gf_pull_engine *engine, struct gf_flight *flight, struct gf_pull *pull)
{
    if (flight->state == GF_FLIGHT_IDLE) {
        flight->state = GF_FLIGHT_FLYING;
        __atomic_fetch_add(&engine->flying, 1, __ATOMIC_RELAXED);
    }
    pull->flight = flight;
    pull->place = flight->count++;
    flight->places[pull->place] = (struct gf_place){ .pull = pull, .import = pull->import };
    flight->under_way++;
}

/* Between two places in device memory the driver copies by a kernel of its own, which waits for the program's kernels as ours
 * do. By way of host memory copy engines do it, which never wait: for small messages, for those that could not start, and on a
 * stream that may be control, where a copy that waits would stand in front of a rescue. */
static bool goes_by_host(const struct gf_flight *flight, const struct gf_pull *pull)
{
    bool from_host = (pull->word & GF_OFFER_STATE_BITS) == GF_OFFER_MOVED;

    return !pull->to_host && !from_host && (flight->shares || pull->kept_out || pull->bytes <= GF_PULL_BOUNCE_BYTES);
}

static gf_status copy_by_host(gf_pull_engine *engine, struct gf_flight *flight, const struct gf_pull *pull)
{
    gf_status status = GF_OK;

    for (size_t at = 0; at < pull->bytes && status == GF_OK; at += GF_PULL_BOUNCE_BYTES) {
        size_t left = pull->bytes - at, bytes = left < GF_PULL_BOUNCE_BYTES ? left : GF_PULL_BOUNCE_BYTES;

        status = gf_device_copy(engine->device, flight->stream, flight->bounce, (const char *)pull->from + at, bytes);
        if (status == GF_OK) {
            status = gf_device_copy(engine->device, flight->stream, (char *)pull->to + at, flight->bounce, bytes);
        }
    }
    return status;
}

/* False: no flight of copies has room. */
static bool launch_copy(gf_pull_engine *engine, struct gf_pull *pull)
{
    struct gf_flight *copies = &engine->flights[GF_KERNEL_FLIGHTS], *flight = copies;

    for (int i = 1; i < GF_COPY_FLIGHTS; i++) {
        if (copies[i].under_way < flight->under_way) {
            flight = &copies[i];
        }
    }
    if (flight->count == GF_PULL_ITEMS) {
        gf_flight_settle(engine, flight);
        if (flight->count == GF_PULL_ITEMS) {
            return false;
        }
    }
    take_place(engine, flight, pull);
    engine->statistics.by_copy_engine++;
    gf_status status = goes_by_host(flight, pull)
        ? copy_by_host(engine, flight, pull)
        : gf_device_copy(engine->device, flight->stream, pull->to, pull->from, pull->bytes);

    if (status == GF_OK) {
        status = gf_device_copy(engine->device, flight->stream, &pull->offer->state, engine->end_word, sizeof pull->offer->state);
    }
    if (status != GF_OK) {
        gf_pull_fail(engine, pull, status);
    }
    return true;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + GF_LINE - 1) / GF_LINE * GF_LINE;
}

static void fill_item(struct gf_pull_item *item, const struct gf_pull *pull, uint64_t start, uint32_t blocks)
{
    *item = (struct gf_pull_item){
        .to = pull->kernel_to, .from = pull->kernel_from, .bytes = pull->bytes, .end = pull->end, .start = start,
        .blocks = blocks, .to_host = pull->to_host,
    };
}

static struct gf_pull_launch launch_head(struct gf_flight *flight, uint64_t share)
{
    do {
        flight->ticket++;
    } while ((uint32_t)flight->ticket == 0);
    return (struct gf_pull_launch){
        .gate = flight->kernel_gate, .ticket = flight->ticket, .share = share,
        .count = flight->count,
    };
}

static gf_status launch_one(gf_pull_engine *engine, struct gf_flight *flight, const struct gf_pull_shape *shape)
{
    struct gf_pull_work work = { .launch = launch_head(flight, shape->share) };

    fill_item(&work.item, flight->places[0].pull, 0, shape->blocks);
    return gf_device_launch(engine->device, flight->stream, GF_KERNEL_PULL, (int)shape->blocks, (int)shape->threads, &work,
                            sizeof work, NULL);
}

static gf_status launch_list(gf_pull_engine *engine, struct gf_flight *flight, const struct gf_pull_shape *shape)
{
    struct gf_pull_list_work work;
    uint64_t start = 0;
    uint32_t block = 0;

    work.launch = launch_head(flight, shape->share);
    for (uint32_t i = 0; i < flight->count; i++) {
        const struct gf_pull *pull = flight->places[i].pull;
        uint64_t end = start + padded(pull->bytes), last = start + pull->bytes - 1;

        fill_item(&work.items[i], pull, start, (uint32_t)(last / shape->share - start / shape->share + 1));
        for (; block < shape->blocks && block * shape->share < end; block++) {
            work.first[block] = (uint8_t)i;
        }
        start = end;
    }
    return gf_device_launch(engine->device, flight->stream, GF_KERNEL_PULL_LIST, (int)shape->blocks, (int)shape->threads, &work,
                            sizeof work, NULL);
}

static struct gf_pull *take_waiting(gf_pull_engine *engine)
{
    struct gf_pull_queue *waiting = &engine->waiting;
    struct gf_pull *pull = waiting->first;

    waiting->first = pull->next;
    if (!pull->next) {
        waiting->last = &waiting->first;
    }
    waiting->count--;
    waiting->bytes -= pull->bytes;
    return pull;
}

void gf_pull_put_back(gf_pull_engine *engine, struct gf_pull *pull)
{
    struct gf_pull_queue *waiting = &engine->waiting;

    pull->next = waiting->first;
    if (!pull->next) {
        waiting->last = &pull->next;
    }
    waiting->first = pull;
    waiting->count++;
    waiting->bytes += pull->bytes;
}

void gf_pull_append(gf_pull_engine *engine, struct gf_pull *pull)
{
    struct gf_pull_queue *waiting = &engine->waiting;

    *waiting->last = pull;
    waiting->last = &pull->next;
    waiting->count++;
    waiting->bytes += pull->bytes;
}

/* A launch that fails leaves the work to the copy engine. */
static void give_to_copies(gf_pull_engine *engine, struct gf_flight *flight)
{
    for (uint32_t i = 0; i < flight->count; i++) {
        struct gf_pull *pull = flight->places[i].pull;

        flight->places[i] = (struct gf_place){ 0 };
        pull->flight = NULL;
        pull->path = GF_PULL_COPY_ENGINE;
        gf_pull_put_back(engine, pull);
    }
    flight->under_way = 0;
    gf_flight_rest(engine, flight);
}

/* As many of those that wait as go together. */
static void launch_kernel(gf_pull_engine *engine, struct gf_flight *flight)
{
    struct gf_pull_shape shape;
    uint64_t bytes = 0;

    while (engine->waiting.first && flight->count < GF_PULL_ITEMS && engine->waiting.first->path == GF_PULL_KERNEL) {
        uint64_t more = padded(engine->waiting.first->bytes);

        if (bytes > 0 && bytes + more > MOST_BYTES) {
            break;
        }
        bytes += more;
        take_place(engine, flight, take_waiting(engine));
    }
    gf_pull_shape_choose(&engine->config, engine->blocks, bytes, flight->count > 1, &shape);
    gf_status status = flight->count == 1 ? launch_one(engine, flight, &shape) : launch_list(engine, flight, &shape);

    if (status != GF_OK) {
        give_to_copies(engine, flight);
        return;
    }
    engine->statistics.launches++;
    engine->statistics.by_kernel += flight->count;
    flight->since_ns = gf_now_ns();
    flight->bytes = bytes;
}

/* How many launches have not ended. */
static uint32_t settle_kernels(gf_pull_engine *engine, struct gf_flight **idle)
{
    uint32_t busy = 0;

    *idle = NULL;
    for (int i = 0; i < GF_KERNEL_FLIGHTS; i++) {
        struct gf_flight *flight = &engine->flights[i];

        if (flight->state == GF_FLIGHT_FLYING) {
            gf_flight_settle(engine, flight);
        }
        busy += flight->state == GF_FLIGHT_FLYING;
        *idle = flight->state == GF_FLIGHT_IDLE ? flight : *idle;
    }
    return busy;
}

/* Issuing a launch takes the host half as long as the launch takes in all. So in a burst of messages, one that is launched at
 * once keeps the host from collecting those behind it: after two launches that overlap, what comes is collected until both have
 * ended, and then until the burst is over. */
static bool is_time(gf_pull_engine *engine, uint32_t busy)
{
    if (busy == 0) {
        engine->burst = engine->waiting.count > 1;
        return true;
    }
    if (engine->burst) {
        return engine->waiting.bytes >= engine->config.burst_bytes;
    }
    engine->burst = true;
    return true;
}

void gf_flights_launch(gf_pull_engine *engine)
{
    bool full = gf_pull_device_is_full(engine);

    while (engine->waiting.first) {
        if (full || engine->waiting.first->path != GF_PULL_KERNEL) {
            struct gf_pull *pull = take_waiting(engine);

            pull->kept_out |= pull->path == GF_PULL_KERNEL || (full && gf_pull_sharing(engine, pull) == GF_SHARING_SAME);
            pull->path = GF_PULL_COPY_ENGINE;
            if (!launch_copy(engine, pull)) {
                gf_pull_put_back(engine, pull);
                return;
            }
            continue;
        }
        struct gf_flight *idle;
        uint32_t busy = settle_kernels(engine, &idle);

        if (!idle || !is_time(engine, busy)) {
            return;
        }
        launch_kernel(engine, idle);
    }
}
