/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends of connections over a network.
 */
#include "transport/net_end.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/abort.h"
#include "transport/copy_engine.h"
#include "transport/failure.h"
#include "transport/net_lanes.h"
#include "transport/net_notice.h"

/* Naps of the proxy after an abort: about a second, in which a wire that needs progress gets the notices out; fewer when the
 * peer's have come, and ours matter to none but a call that waits for them. */
enum { REST_TURNS = 1000, LAST_TURNS = 50 };

struct description {
    struct gf_wire_shape shape;
    char wire[16];                 /* its kind */
    uint32_t group, lanes;
    struct gf_net_room room;
};
_Static_assert(sizeof(struct description) <= GF_BLOB_BYTES, "the description fits a blob");

char *gf_net_end_slot(const struct gf_net_end *end, const struct gf_net_part *part)
{
    return gf_slot_of(end->slots.wire.address, &end->c->shape, part->channel, part->step);
}

char *gf_net_end_data(const struct gf_net_end *end, const struct gf_net_part *part, const struct gf_wire_memory **memory)
{
    *memory = part->lent ? &end->loan.buffer->wire : &end->slots.wire;
    return part->lent ? (char *)(uintptr_t)part->own.address : gf_net_end_slot(end, part);
}

static gf_status open_memory(struct gf_net_end *end, struct gf_reason *why)
{
    struct gf_connector *c = end->c;
    gf_status status = gf_net_slots_open(c, end->wire, &end->slots, &end->flush, why);

    if (status == GF_OK) {
        status = gf_device_pinned_alloc(c->device, gf_words_bytes(&c->shape), &end->words, why);
        end->words = status == GF_OK ? end->words : NULL;
    }
    if (status == GF_OK && end->group > 1) {
        size_t rounds = (size_t)end->lane_count * GF_FIFO_DEPTH;

        status = gf_net_memory_open(c, rounds * (size_t)end->group * sizeof(uint32_t), &end->sizes, why);
    }
    return status;
}

static void describe(const struct gf_net_end *end, struct gf_blob *mine)
{
    struct description d = {
        .group = (uint32_t)end->group, .lanes = (uint32_t)end->lane_count,
        .room = { .slots = (uintptr_t)end->slots.wire.address, .slots_bytes = gf_layout_slots_bytes(&end->c->shape),
                  .sizes = (uintptr_t)end->sizes.wire.address },
    };

    gf_connector_describe(end->c, gf_connector_own_bytes(end->c), &d.shape);
    memcpy(d.wire, end->wire->ops->name, strnlen(end->wire->ops->name, sizeof d.wire - 1));
    memcpy(mine->bytes, &d, sizeof d);
}

gf_status gf_net_end_open(struct gf_net_end *end, struct gf_connector *c, uint32_t line_count, struct gf_blob *mine,
                          struct gf_reason *why)
{
    *end = (struct gf_net_end){ .c = c, .rest = REST_TURNS };
    gf_status status = gf_copies_check(c, why);

    if (status == GF_OK) {
        status = gf_net_open(c->net, &end->wire, why);
    }
    if (status == GF_OK && c->shape.slot_bytes > end->wire->caps.put_bytes) {
        gf_reason_set(why, "%s puts at most %zu bytes at once: give the setting simple_slot_bytes no more", end->wire->name,
                      end->wire->caps.put_bytes);
        status = GF_ERR_UNSUPPORTED;
    }
    if (status != GF_OK) {
        return status;
    }
    end->group = gf_net_config_of(c->net)->group;
    end->lane_count = (c->shape.channels + end->group - 1) / end->group;
    status = open_memory(end, why);
    if (status == GF_OK) {
        gf_net_loan_open(end);
        status = gf_net_lanes_open(end, line_count, mine, why);
    }
    if (status == GF_OK) {
        describe(end, mine);
    }
    return status;
}

static gf_status check(const struct gf_net_end *end, const struct description *d, struct gf_reason *why)
{
    gf_status status = gf_connector_check(end->c, &d->shape, why);

    if (status != GF_OK) {
        return status;
    }
    if (strncmp(d->wire, end->wire->ops->name, sizeof d->wire) != 0) {
        gf_reason_set(why, "rank %d uses %.*s, rank %d uses %s: give the setting net a name instead of auto", end->c->peer,
                      (int)sizeof d->wire - 1, d->wire, end->c->me, end->wire->ops->name);
        return GF_ERR_PEER;
    }
    if (d->group != (uint32_t)end->group) {
        gf_reason_set(why, "rank %d has the setting net_group = %u, but rank %d has %d: give all ranks the same", end->c->peer,
                      d->group, end->c->me, end->group);
        return GF_ERR_PEER;
    }
    if (d->lanes != (uint32_t)end->lane_count
        || d->room.slots_bytes != gf_layout_slots_bytes(&end->c->shape)) {
        gf_reason_set(why, "rank %d described %u lanes of %u channels: use one version of gpufifo and the same settings on all "
                      "ranks", end->c->peer, d->lanes, d->group);
        return GF_ERR_PEER;
    }
    return GF_OK;
}

static void wake_proxy(void *ctx)
{
    gf_proxy_wake(ctx);
}

gf_status gf_net_end_connect(struct gf_net_end *end, const struct gf_blob *theirs, struct gf_reason *why)
{
    struct description d;

    memcpy(&d, theirs->bytes, sizeof d);
    gf_status status = check(end, &d, why);

    if (status == GF_OK) {
        status = gf_net_lanes_connect(end, theirs, why);
    }
    if (status != GF_OK) {
        return status;
    }
    end->peer = d.room;
    if (end->c->abort) {
        gf_abort_set_alarm(end->c->abort, wake_proxy, end->c->proxy);
    }
    status = gf_copied_endpoint(end->c, end->slots.user, end->words, why);
    return status == GF_OK ? gf_proxy_add(end->c->proxy, &end->task, why) : status;
}

/* The proxy touches nothing of the end any more. broken: as gf_wire_ops.destroy's. */
static void close_lanes(struct gf_net_end *end, bool broken)
{
    if (end->c->proxy) {
        gf_proxy_remove(end->c->proxy, &end->task);
    }
    for (int i = 0; end->lanes && i < end->lane_count; i++) {
        if (end->lanes[i].wire) {
            end->wire->ops->destroy(end->lanes[i].wire, broken);
            end->lanes[i].wire = NULL;
        }
    }
}

void gf_net_end_leave(struct gf_net_end *end)
{
    const struct timespec nap = { .tv_nsec = 100000 };

    while (end->c->abort && !gf_host_observe_flag(&end->settled)) {
        nanosleep(&nap, NULL);
    }
    close_lanes(end, true);
}

void gf_net_end_close(struct gf_net_end *end)
{
    close_lanes(end, false);
    gf_net_memory_close(end->c, end->wire, &end->sizes);
    gf_net_flush_close(&end->flush);
    gf_net_memory_close(end->c, end->wire, &end->slots);
    if (end->words) {
        gf_device_pinned_free(end->c->device, end->words);
    }
    free(end->lanes);
    end->lanes = NULL;
    end->words = NULL;
}

/* Has the peer told of the end, over all lanes that hold? */
static bool has_heard(const struct gf_net_end *end)
{
    for (int i = 0; i < end->lane_count; i++) {
        const struct gf_wire_lane *lane = end->lanes[i].wire;
        struct gf_reason why;
        gf_status status;

        if (!gf_net_notice_take(lane, &status, &why) && end->wire->ops->state(end->lanes[i].wire, &why) == GF_OK) {
            return false;
        }
    }
    return true;
}

/* After an abort: tells the peer, a lane after the other, and then leaves it some turns to arrive. */
static enum gf_proxy_turn tell_peer(struct gf_net_end *end, gf_status status, const char *text)
{
    while (end->told < end->lane_count) {
        if (gf_net_notice_put(end->lanes[end->told].wire, status, text) == GF_NO_RESOURCE) {
            break;
        }
        end->told++;
    }
    if (end->rest > LAST_TURNS && end->told == end->lane_count && has_heard(end)) {
        end->rest = LAST_TURNS;
    }
    if (end->rest > 0 && --end->rest == 0) {
        gf_host_publish_flag(&end->settled, 1);
    }
    return end->rest > 0 ? GF_PROXY_WAITING : GF_PROXY_IDLE;
}

/* What the peer tells, and what became of the lanes. */
static gf_status look_at_lanes(struct gf_net_end *end, bool busy)
{
    for (int i = 0; i < end->lane_count; i++) {
        struct gf_wire_lane *lane = end->lanes[i].wire;
        struct gf_reason why;
        gf_status status;

        if (end->c->abort && gf_net_notice_take(lane, &status, &why)) {
            gf_abort_raise(end->c->abort, status, why.text);
            return GF_OK;
        }
        status = busy ? end->wire->ops->state(lane, &end->why) : GF_OK;
        if (status != GF_OK) {
            return status;
        }
    }
    return GF_OK;
}

void gf_net_end_ask(struct gf_net_end *end)
{
    gf_host_publish_flag(&end->asked, 1);
    gf_proxy_wake(end->c->proxy);
}

/* All lanes lead to one process, but by adapters of which each may fail alone. True: somebody had asked. */
static bool ask_peer(struct gf_net_end *end)
{
    if (!gf_host_observe_flag(&end->asked)) {
        return false;
    }
    gf_host_publish_flag(&end->asked, 0);
    for (int i = 0; i < end->lane_count; i++) {
        gf_net_notice_put_nothing(end->lanes[i].wire);
    }
    return true;
}

/* The wire's word, where a stage has not said why. */
static void fail(struct gf_net_end *end, int lane, gf_status status)
{
    struct gf_reason why = { "" };

    end->dead = true;
    if (end->why.text[0] == '\0' && end->wire->ops->state(end->lanes[lane].wire, &why) == GF_OK) {
        gf_reason_set(&why, "%s: %s", end->lanes[lane].wire->name, gf_status_string(status));
    }
    gf_failure_raise(end->c, status, "a lane of", end->why.text[0] ? end->why.text : why.text);
}

enum gf_proxy_turn gf_net_end_turn(struct gf_net_end *end, gf_net_climb *climb, void *ctx)
{
    enum gf_proxy_turn most = end->wire->ops->progress(end->wire) ? GF_PROXY_MOVED : GF_PROXY_IDLE;
    struct gf_reason why = { "" };
    gf_status status = GF_OK;
    int lane = 0;

    if (gf_failure_seen(end->c, &status, &why)) {
        end->dead = true;
        return tell_peer(end, status, why.text);
    }
    if (end->dead) {
        return GF_PROXY_IDLE;
    }
    bool used = gf_host_observe_flag(&end->used), busy = ask_peer(end);

    for (int i = 0; used && i < end->lane_count && status == GF_OK; i++) {
        enum gf_proxy_turn one = climb(ctx, i, &status);

        lane = i;
        busy = busy || one != GF_PROXY_IDLE;
        most = one > most ? one : most;
    }
    status = status == GF_OK ? look_at_lanes(end, busy) : status;
    if (status != GF_OK) {
        fail(end, lane, status);
        return GF_PROXY_MOVED;
    }
    return most;
}
