/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The carrier: how it and its lanes are made, take turns, break and end.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/carrier_private.h"

enum {
    REST = 200,                        /* turns for a farewell to arrive */
    LINGER = 64,                       /* turns without a message, of the pump about as many milliseconds at most */
    PING_TURNS = 4096                  /* turns of a lane in vain, between two questions to the network */
};

static void settle(struct gf_copy_ring *ring, void (*end)(void *owner, gf_status status))
{
    gf_status status;
    void *owner;

    while (ring->device && gf_copy_ring_next(ring, &owner, &status)) {
        end(owner, status);
    }
}

static void copied(void *owner, gf_status status) { gf_put_copied(owner, status); }
static void stored(void *owner, gf_status status) { gf_grant_stored(owner, status); }

bool gf_carrier_lane_lives(struct gf_carrier_lane *lane)
{
    struct gf_reason why = { "" };

    if (lane->broken) {
        return false;
    }
    const struct gf_farewell *farewell = (const void *)(lane->wire->lines + GF_CARRIER_CREDITS * GF_WIRE_LINE);

    if (gf_host_observe(&farewell->first) == GF_FAREWELL && gf_host_observe(&farewell->last) == GF_FAREWELL) {
        snprintf(why.text, sizeof why.text, "it gave up: %.*s", (int)sizeof farewell->text, farewell->text);
    } else if (lane->carrier->wire->ops->state(lane->wire, &why) == GF_OK) {
        return true;
    }
    gf_carrier_break(lane, false, why.text);
    return false;
}

/* A line that says nothing finds out whether the network is still there. */
static void ask(struct gf_carrier_lane *lane)
{
    const struct gf_farewell line = { .first = 0 };

    (void)lane->carrier->wire->ops->put_lines(lane->wire, GF_CARRIER_CREDITS, &line, 1);
}

static bool has_messages(const struct gf_carrier_lane *lane)
{
    return lane->sends ? lane->out.messages != NULL : lane->in.first != NULL;
}

/* broken: as gf_wire_ops.destroy's: what either end had begun with the messages' memory is over then. */
static void destroy_wire(struct gf_carrier_lane *lane, bool broken)
{
    if (lane->wire) {
        lane->carrier->wire->ops->destroy(lane->wire, broken);
        lane->wire = NULL;
    }
}

/* The farewell first, which takes its time. */
static bool end_lane(struct gf_carrier_lane *lane)
{
    struct gf_farewell line = { .first = GF_FAREWELL, .last = GF_FAREWELL };

    if (lane->tell) {
        snprintf(line.text, sizeof line.text, "%s", lane->cause);
        lane->tell = lane->carrier->wire->ops->put_lines(lane->wire, GF_CARRIER_CREDITS, &line, 1) == GF_NO_RESOURCE;
    }
    if (lane->rest > 0) {
        lane->rest--;
        return false;
    }
    lane->tell = false;
    destroy_wire(lane, true);
    if (lane->copying > 0) {
        return false;
    }
    (lane->sends ? gf_outgoing_fail : gf_incoming_fail)(lane);
    return true;
}

/* True: something moved. */
static bool turn_lane(struct gf_carrier_lane *lane)
{
    if (!has_messages(lane)) {
        return false;
    }
    if (gf_carrier_lane_lives(lane)) {
        bool moved = lane->sends ? gf_outgoing_turn(lane) : gf_incoming_turn(lane);

        lane->vain = moved ? 0 : lane->vain + 1;
        if (!lane->broken && lane->vain > 0 && lane->vain % PING_TURNS == 0) {
            ask(lane);
        }
        return moved;
    }
    return end_lane(lane);
}

/* With the lock held. */
static enum gf_pump_turn turn(struct gf_carrier *carrier)
{
    bool moved = carrier->wire->ops->progress(carrier->wire);

    settle(&carrier->out, copied);
    settle(&carrier->in, stored);
    for (struct gf_carrier_lane *lane = carrier->lanes; lane; lane = lane->next) {
        moved |= turn_lane(lane);
    }
    if (moved || carrier->messages > 0) {
        carrier->linger = LINGER;
        return moved ? GF_PUMP_MOVED : GF_PUMP_WAITING;
    }
    if (carrier->linger > 0) {
        carrier->linger--;
        return GF_PUMP_WAITING;
    }
    carrier->busy = false;
    return GF_PUMP_IDLE;
}

static enum gf_pump_turn pump_turn(void *ctx)
{
    struct gf_carrier *carrier = ctx;

    pthread_mutex_lock(&carrier->lock);
    enum gf_pump_turn found = turn(carrier);

    pthread_mutex_unlock(&carrier->lock);
    return found;
}

void gf_carrier_progress(struct gf_carrier *carrier)
{
    if (!carrier->busy || pthread_mutex_trylock(&carrier->lock) != 0) {
        return;
    }
    if (carrier->pump) {
        gf_pump_relieve(carrier->pump);
    }
    (void)turn(carrier);
    pthread_mutex_unlock(&carrier->lock);
}

bool gf_carrier_busy(const struct gf_carrier *carrier)
{
    return carrier->busy;
}

/* Without a thread they move on in progress alone, which is right. */
void gf_carrier_count(struct gf_carrier *carrier)
{
    struct gf_reason ignored;

    carrier->messages++;
    carrier->linger = LINGER;
    carrier->busy = true;
    if (carrier->pump) {
        (void)gf_pump_wake(carrier->pump, &ignored);
    }
}

gf_status gf_carrier_admit(struct gf_carrier_lane *lane, struct gf_pieces *pieces, struct gf_reason *why)
{
    if (!gf_carrier_lane_lives(lane)) {
        *why = lane->why;
        return GF_ERR_PEER;
    }
    return !pieces || gf_pieces_open(lane->carrier, pieces, why) == GF_OK ? GF_OK : GF_ERR_UNSUPPORTED;
}

gf_status gf_carrier_poll_end(const struct gf_carrier_end *end, struct gf_reason *why)
{
    if (!atomic_load_explicit(&end->ended, memory_order_acquire)) {
        return GF_IN_PROGRESS;
    }
    if (end->status != GF_OK) {
        *why = end->why;
    }
    return end->status;
}

void gf_carrier_fail_end(struct gf_carrier_end *end, gf_status status, const struct gf_reason *why)
{
    if (end->status == GF_OK) {
        end->status = status;
        end->why = *why;
    }
}

gf_status gf_carrier_create(const struct gf_carrier_config *config, struct gf_carrier **made, struct gf_reason *why)
{
    struct gf_carrier *carrier = calloc(1, sizeof *carrier);

    *made = NULL;
    if (!carrier) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    carrier->config = *config;
    pthread_mutex_init(&carrier->lock, NULL);
    gf_status status = gf_net_open(config->net, &carrier->wire, why);

    if (status == GF_OK) {
        status = gf_carrier_flush_open(carrier, why);
    }
    if (status == GF_OK) {
        status = gf_pump_create(pump_turn, carrier, &carrier->pump, why);
    }
    if (status != GF_OK) {
        gf_carrier_destroy(carrier);
        return status;
    }
    *made = carrier;
    return GF_OK;
}

void gf_carrier_destroy(struct gf_carrier *carrier)
{
    if (!carrier) {
        return;
    }
    gf_pump_destroy(carrier->pump);
    gf_copy_ring_destroy(&carrier->out);
    gf_copy_ring_destroy(&carrier->in);
    while (carrier->lanes) {
        struct gf_carrier_lane *lane = carrier->lanes;
        bool broken = lane->broken || has_messages(lane);

        gf_carrier_break(lane, false, "this process ends");
        destroy_wire(lane, broken);
        (lane->sends ? gf_outgoing_fail : gf_incoming_fail)(lane);
        carrier->lanes = lane->next;
        free(lane);
    }
    gf_pieces_close(carrier, &carrier->out_pieces);
    gf_pieces_close(carrier, &carrier->in_pieces);
    gf_carrier_flush_close(carrier);
    pthread_mutex_destroy(&carrier->lock);
    free(carrier);
}

const char *gf_carrier_wire(const struct gf_carrier *carrier)
{
    return carrier->wire->ops->name;
}

int gf_carrier_adapters(const struct gf_carrier *carrier)
{
    return carrier->wire->caps.adapters;
}

/* The same at both ends. Lanes to several ranks, lanes from several, and the two between a pair go by several adapters. */
static unsigned spread(const struct gf_carrier_lane *lane)
{
    int me = lane->carrier->config.rank, from = lane->sends ? me : lane->peer, to = lane->sends ? lane->peer : me;

    return (unsigned)from + (unsigned)to + (from > to);
}

gf_status gf_carrier_lane_create(struct gf_carrier *carrier, int peer, bool sends, int adapters, struct gf_carrier_lane **made,
                                 struct gf_wire_address *mine, struct gf_reason *why)
{
    struct gf_carrier_lane *lane = calloc(1, sizeof *lane);

    *made = NULL;
    if (!lane) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    *lane = (struct gf_carrier_lane){ .carrier = carrier, .peer = peer, .sends = sends, .in.newest = &lane->in.first };
    gf_status status = carrier->wire->ops->create(carrier->wire, spread(lane) % (unsigned)adapters, GF_CARRIER_CREDITS + 1,
                                                  &lane->wire, mine, why);

    if (status != GF_OK) {
        free(lane);
        return status;
    }
    pthread_mutex_lock(&carrier->lock);
    lane->next = carrier->lanes;
    carrier->lanes = lane;
    pthread_mutex_unlock(&carrier->lock);
    *made = lane;
    return GF_OK;
}

gf_status gf_carrier_lane_connect(struct gf_carrier_lane *lane, const struct gf_wire_address *theirs, struct gf_reason *why)
{
    pthread_mutex_lock(&lane->carrier->lock);
    gf_status status = lane->carrier->wire->ops->connect(lane->wire, theirs, why);

    pthread_mutex_unlock(&lane->carrier->lock);
    return status;
}

void gf_carrier_lane_describe(struct gf_carrier_lane *lane, struct gf_reason *how)
{
    pthread_mutex_lock(&lane->carrier->lock);
    gf_reason_set(how, "%s", lane->wire ? lane->wire->name : lane->why.text);
    pthread_mutex_unlock(&lane->carrier->lock);
}

void gf_carrier_break(struct gf_carrier_lane *lane, bool tell, const char *why)
{
    if (!lane->broken) {
        gf_reason_set(&lane->why, "the network to rank %d broke: %.180s", lane->peer, why);
        snprintf(lane->cause, sizeof lane->cause, "%s", why);
        lane->tell = tell;
        lane->rest = tell ? REST : 0;
        lane->broken = true;
    }
}

bool gf_carrier_failed(struct gf_carrier_lane *lane, gf_status status)
{
    struct gf_reason why = { "" };

    if (status >= 0) {
        return false;
    }
    if (lane->carrier->wire->ops->state(lane->wire, &why) == GF_OK) {
        gf_reason_set(&why, "%s: %s", lane->carrier->wire->name, gf_status_string(status));
    }
    gf_carrier_break(lane, true, why.text);
    return true;
}

gf_status gf_carrier_copy(struct gf_carrier_lane *lane, struct gf_copy_ring *ring, void *to, const void *from, size_t bytes,
                          void *owner)
{
    gf_status status = gf_copy_ring_start(ring, to, from, bytes, owner);

    lane->copying += status == GF_OK;
    return status;
}
