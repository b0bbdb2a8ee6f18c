/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes of the UCX wire: a number in the worker's table, and the endpoint that leads to the other end's.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host_ordered.h"
#include "transport/ucx_private.h"

enum {
    FIRST_ROOM = 16,
    SLOT_BITS = 24                 /* of a lane's number: its place in the table; above it, how many were made before */
};

/* "gfUCX" and the version of what follows. */
static const uint64_t address_magic = 0x6766554358000001;

/* FNV-1a: finds an address that was cut or mixed up, before UCX reads it. */
static uint32_t sum_of(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < bytes; i++) {
        sum = (sum ^ byte[i]) * 16777619u;
    }
    return sum;
}

struct gf_ucx_lane *gf_ucx_lane_find(const struct gf_ucx_wire *wire, uint64_t number)
{
    uint64_t slot = number & ((1u << SLOT_BITS) - 1);
    struct gf_ucx_lane *lane = slot < wire->lane_room ? wire->lanes[slot] : NULL;

    return lane != NULL && lane->number == number ? lane : NULL;
}

static gf_status place_take(struct gf_ucx_wire *wire, struct gf_ucx_lane *lane)
{
    uint64_t slot = 0;

    while (slot < wire->lane_room && wire->lanes[slot] != NULL) {
        slot++;
    }
    if (slot == wire->lane_room) {
        uint64_t room = wire->lane_room == 0 ? FIRST_ROOM : 2 * wire->lane_room;
        struct gf_ucx_lane **lanes = room <= 1u << SLOT_BITS ? realloc(wire->lanes, room * sizeof *lanes) : NULL;

        if (lanes == NULL) {
            return GF_ERR_NO_MEMORY;
        }
        memset(lanes + wire->lane_room, 0, (room - wire->lane_room) * sizeof *lanes);
        wire->lanes = lanes;
        wire->lane_room = room;
    }
    wire->lanes[slot] = lane;
    lane->number = ++wire->lanes_made << SLOT_BITS | slot;
    return GF_OK;
}

/* What is the lane's own comes last: addresses of lanes of one wire differ only there. */
static void address_fill(const struct gf_ucx_wire *wire, const struct gf_ucx_lane *lane, struct gf_wire_address *mine)
{
    struct gf_ucx_address_head head = {
        .magic = address_magic,
        .wire = wire->id,
        .worker_bytes = (uint32_t)wire->address_bytes,
        .sum = sum_of(wire->address, wire->address_bytes),
    };

    memset(mine, 0, sizeof *mine);
    memcpy(mine->data, &head, sizeof head);
    memcpy(mine->data + sizeof head, wire->address, wire->address_bytes);
    memcpy(mine->data + sizeof head + wire->address_bytes, &lane->number, sizeof lane->number);
    mine->bytes = (uint32_t)(sizeof head + wire->address_bytes + sizeof lane->number);
}

gf_status gf_ucx_create(struct gf_wire *base, unsigned number, uint32_t line_count, struct gf_wire_lane **made,
                        struct gf_wire_address *mine, struct gf_reason *why)
{
    struct gf_ucx_wire *wire = gf_ucx_wire_of(base);
    struct gf_ucx_lane *lane = calloc(1, sizeof *lane);
    size_t bytes = (size_t)line_count * GF_WIRE_LINE;
    gf_status status = GF_ERR_NO_MEMORY;

    (void)number;
    if (lane != NULL) {
        lane->base = (struct gf_wire_lane){
            .wire = base,
            .lines = line_count > 0 ? aligned_alloc(GF_WIRE_LINE, bytes) : NULL,
            .line_count = line_count,
        };
        snprintf(lane->base.name, sizeof lane->base.name, "%s", base->name);
        if (line_count == 0 || lane->base.lines != NULL) {
            gf_ucx_lock(wire);
            status = place_take(wire, lane);
            gf_ucx_unlock(wire);
        }
    }
    if (status != GF_OK) {
        gf_reason_set(why, "no memory for a lane of UCX with %u lines", line_count);
        gf_ucx_lane_free(lane);
        return status;
    }
    if (line_count > 0) {
        memset(lane->base.lines, 0, bytes);
    }
    address_fill(wire, lane, mine);
    *made = &lane->base;
    return GF_OK;
}

/* A peer's address, taken to pieces: false if it cannot be believed. */
static bool address_read(const struct gf_wire_address *theirs, struct gf_ucx_address_head *head, void *worker, uint64_t *lane)
{
    size_t around = sizeof *head + sizeof *lane;

    if (theirs->bytes < around || theirs->bytes > sizeof theirs->data) {
        return false;
    }
    memcpy(head, theirs->data, sizeof *head);
    if (head->magic != address_magic || head->worker_bytes != theirs->bytes - around) {
        return false;
    }
    memcpy(worker, theirs->data + sizeof *head, head->worker_bytes);
    memcpy(lane, theirs->data + sizeof *head + head->worker_bytes, sizeof *lane);
    return head->sum == sum_of(worker, head->worker_bytes);
}

gf_status gf_ucx_connect(struct gf_wire_lane *base, const struct gf_wire_address *theirs, struct gf_reason *why)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    struct gf_ucx_address_head head;
    gf_status status = GF_OK;
    uint64_t number, worker[GF_WIRE_ADDRESS_BYTES / sizeof(uint64_t)];

    if (!address_read(theirs, &head, worker, &number)) {
        gf_reason_set(why, "what the peer sent is no address of a UCX lane of this version: both must run the same gpufifo");
        return GF_ERR_PEER;
    }
    if (lane->peer != NULL) {
        gf_reason_set(why, "this lane is connected already");
        return GF_ERR_INVALID;
    }
    gf_ucx_lock(wire);
    lane->theirs = number;
    lane->peer = gf_ucx_peer_get(wire, head.wire, worker, &status, why);
    gf_ucx_unlock(wire);
    return status;
}

gf_status gf_ucx_lane_break(struct gf_ucx_lane *lane, gf_status status, const char *format, ...)
{
    va_list arguments;

    if (!lane->broken) {
        va_start(arguments, format);
        vsnprintf(lane->why.text, sizeof lane->why.text, format, arguments);
        va_end(arguments);
        lane->status = status;
        gf_host_publish_flag(&lane->broken, 1);
        gf_ucx_unconfirmed_end(lane);
    }
    return status;
}

void gf_ucx_lane_fail(struct gf_ucx_lane *lane, ucs_status_t status)
{
    if (!lane->broken) {
        gf_ucx_lane_break(lane, gf_ucx_status(status), "%s (%s): %s", lane->base.wire->name, lane->peer->path,
                          gf_ucx_of(lane)->ucx.ucs_status_string(status));
    }
}

gf_status gf_ucx_state(struct gf_wire_lane *base, struct gf_reason *why)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);

    if (!gf_host_observe_flag(&lane->broken)) {
        return GF_OK;
    }
    gf_reason_set(why, "%s", lane->why.text);
    return lane->status;
}

static bool all_ended(void *argument)
{
    return ((struct gf_ucx_lane *)argument)->in_flight == 0;
}

/* What ended, but was not handed out yet: its words may go with the lane. */
static void tickets_drop(struct gf_ucx_wire *wire, const struct gf_ucx_lane *lane)
{
    for (struct gf_ucx_op *op = wire->ended.first; op != NULL; op = op->next) {
        if (op->lane == lane) {
            op->ticket.word = NULL;
        }
    }
}

/* What has begun arrives, or is lost after a while. Afterwards nothing of the lane is under way: where UCX itself does not let
 * go, the endpoint is given up. */
static void settle(struct gf_ucx_wire *wire, struct gf_ucx_lane *lane)
{
    struct gf_ucx_peer *peer = lane->peer;

    if (lane->in_flight == 0 || (!peer->broken && !peer->silent && gf_ucx_wait(wire, all_ended, lane))) {
        return;
    }
    peer->silent = true;
    /* What has left, but was not confirmed. */
    gf_ucx_lane_break(lane, GF_ERR_ABORTED, "the lane is destroyed");
    if (lane->in_flight > 0) {
        if (!peer->broken) {
            gf_log(wire->log, GF_LOG_WARN, "%s: a peer takes nothing any more, and is given up", wire->base.name);
        }
        gf_ucx_peer_give_up(peer);
        gf_ucx_wait(wire, all_ended, lane);
    }
}

/* Whether it broke or not: what still comes for it is nobody's (gf_ucx_receive). */
void gf_ucx_destroy(struct gf_wire_lane *base, bool broken)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_wire *wire = gf_ucx_of(lane);

    (void)broken;
    gf_ucx_lock(wire);
    lane->destroyed = true;
    tickets_drop(wire, lane);
    gf_ucx_confirm_all(wire);
    settle(wire, lane);
    if (lane->peer != NULL) {
        gf_ucx_peer_leave(lane->peer);
    }
    /* Otherwise it is freed with the wire, when UCX cannot call back any more. */
    if (lane->in_flight == 0) {
        wire->lanes[lane->number & ((1u << SLOT_BITS) - 1)] = NULL;
        gf_ucx_lane_free(lane);
    }
    gf_ucx_unlock(wire);
}

void gf_ucx_lane_free(struct gf_ucx_lane *lane)
{
    if (lane != NULL) {
        gf_key_table_release(&lane->announced);
        free(lane->ring);
        free(lane->base.lines);
        free(lane);
    }
}
