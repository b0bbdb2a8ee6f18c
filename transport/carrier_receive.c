/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving end of a lane: messages become credits, and what a notification tells of is flushed and stored.
 */
#include <stdlib.h>

#include "core/pipe.h"
#include "transport/carrier_private.h"

static void end(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;
    struct gf_carrier_in *message = in->first;

    in->first = message->next;
    if (!in->first) {
        in->newest = &in->first;
    }
    gf_carrier_forget(lane->carrier, &message->data, lane->broken);
    lane->carrier->messages--;
    if (message->own) {
        free(message);
    } else {
        atomic_store_explicit(&message->end.ended, true, memory_order_release);
    }
}

static struct gf_carrier_in *next_message(const struct gf_incoming *in)
{
    struct gf_carrier_in *message = in->first;

    while (message && message->granted_all) {
        message = message->next;
    }
    return message;
}

/* Whose memory a grant names, null: nobody's, for it is of no bytes. */
static const struct gf_wire_memory *memory_of(const struct gf_carrier_lane *lane, const struct gf_grant *grant)
{
    return grant->bytes == 0 ? NULL
        : grant->piece ? &lane->carrier->in_pieces.wire : gf_carrier_memory_of(&grant->message->data);
}

/* Where in it; it is of some bytes. */
static const char *place_of(const struct gf_grant *grant)
{
    return grant->piece ? grant->piece->memory : grant->message->data.place + grant->offset;
}

/* Room for what the next credit allows; false: there is none. */
static bool fill_grant(struct gf_carrier_lane *lane, struct gf_grant *grant)
{
    struct gf_carrier *carrier = lane->carrier;
    struct gf_carrier_in *message = grant->message;
    size_t left = message->data.bytes - message->granted;

    grant->bytes = left;
    if (left > 0 && !message->data.place) {
        const struct gf_pipe_config pieces = { .chunk_bytes = carrier->config.piece_bytes };
        size_t most = gf_pipe_chunk_choose(&pieces, message->data.bytes);

        grant->piece = gf_pieces_take(&carrier->in_pieces);
        grant->bytes = left < most ? left : most;
    }
    grant->last = grant->bytes == left;
    return left == 0 || message->data.place || grant->piece;
}

/* Tells the wire, and then the peer. */
static gf_status send_credit(struct gf_carrier_lane *lane, const struct gf_grant *grant)
{
    const struct gf_wire_ops *ops = lane->carrier->wire->ops;
    const struct gf_carrier_in *message = grant->message;
    const struct gf_wire_memory *memory = memory_of(lane, grant);
    uint64_t number = lane->in.given + 1;
    const struct gf_credit credit = {
        .first = number, .id = message->id, .offset = grant->offset, .bytes = grant->bytes,
        .address = memory ? (uintptr_t)place_of(grant) : 0, .key = memory ? gf_wire_key(lane->wire, memory) : 0,
        .kind = message->kind, .wanted = message->data.bytes, .last = number,
    };
    gf_status status = memory ? ops->announce(lane->wire, memory) : GF_OK;

    if (status == GF_OK && lane->in.expected < number) {
        status = ops->expect(lane->wire);
        lane->in.expected += status == GF_OK;
    }
    return status == GF_OK ? ops->put_lines(lane->wire, (uint32_t)(lane->in.given % GF_CARRIER_CREDITS), &credit, 1) : status;
}

static bool give_credit(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;
    struct gf_carrier_in *message = next_message(in);
    struct gf_grant *grant = &in->grants[in->given % GF_CARRIER_CREDITS];

    if (!message || in->given - in->done == GF_CARRIER_CREDITS) {
        return false;
    }
    *grant = (struct gf_grant){ .lane = lane, .message = message, .offset = message->granted };
    gf_status status = fill_grant(lane, grant) ? send_credit(lane, grant) : GF_NO_RESOURCE;

    if (status != GF_OK) {
        gf_pieces_give(&lane->carrier->in_pieces, grant->piece);
        (void)gf_carrier_failed(lane, status);
        return false;
    }
    message->granted += grant->bytes;
    message->granted_all = grant->last;
    in->given++;
    return true;
}

static void note_failure(struct gf_carrier_in *message, gf_status status, const char *what)
{
    if (message->end.status == GF_OK) {
        message->end.status = status;
        gf_reason_set(&message->end.why, "%s: %s", what, gf_status_string(status));
    }
}

static bool notice(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;
    struct gf_grant *grant = &in->grants[in->noticed % GF_CARRIER_CREDITS];
    uint32_t immediate, right = gf_carrier_immediate(in->noticed + 1, false);

    if (in->noticed == in->given || !lane->carrier->wire->ops->take(lane->wire, &immediate)) {
        return false;
    }
    if ((immediate | 1) != (right | 1)) {
        gf_carrier_break(lane, true, "a wrong notification");
        return false;
    }
    if (immediate != right && grant->message->kind == GF_CREDIT_PUT) {
        gf_reason_set(&grant->message->end.why, "rank %d could not send a message's data", lane->peer);
        grant->message->end.status = GF_ERR_PEER;
    }
    in->noticed++;
    return true;
}

static gf_status flush(struct gf_carrier_lane *lane, struct gf_grant *grant, struct gf_reason *why)
{
    const struct gf_wire_memory *memory = memory_of(lane, grant);
    bool device = grant->message->data.device && !grant->piece;

    if (grant->message->end.status != GF_OK || !memory) {
        grant->flushed = 1;
        return GF_OK;
    }
    return gf_carrier_flush_begin(lane, device, memory, place_of(grant), &grant->flushed, why);
}

static bool begin_flush(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;
    struct gf_reason why = { "" };

    if (in->flushing == in->noticed) {
        return false;
    }
    gf_status status = flush(lane, &in->grants[in->flushing % GF_CARRIER_CREDITS], &why);

    if (status == GF_ERR_DEVICE) {
        gf_carrier_break(lane, true, why.text);
        return false;
    }
    if (status != GF_OK) {
        (void)gf_carrier_failed(lane, status);
        return false;
    }
    in->flushing++;
    return true;
}

static bool begin_store(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;
    struct gf_grant *grant = &in->grants[in->storing % GF_CARRIER_CREDITS];
    struct gf_carrier_in *message = grant->message;

    if (in->storing == in->flushing || !grant->flushed) {
        return false;
    }
    if (grant->piece && message->end.status == GF_OK) {
        if (gf_copy_ring_full(&lane->carrier->in)) {
            return false;
        }
        gf_status status = gf_carrier_copy(lane, &lane->carrier->in, message->data.address + grant->offset,
                                           grant->piece->memory, grant->bytes, grant);

        if (status != GF_OK) {
            note_failure(message, status, "a message could not be copied out of host memory");
            grant->stored = true;
        }
    } else {
        grant->stored = true;
    }
    in->storing++;
    return true;
}

void gf_grant_stored(struct gf_grant *grant, gf_status status)
{
    grant->lane->copying--;
    grant->stored = true;
    if (status != GF_OK) {
        note_failure(grant->message, status, "a message could not be copied out of host memory");
    }
}

static bool retire_grant(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;
    struct gf_grant *grant = &in->grants[in->done % GF_CARRIER_CREDITS];

    if (in->done == in->storing || !grant->stored) {
        return false;
    }
    gf_pieces_give(&lane->carrier->in_pieces, grant->piece);
    in->done++;
    if (grant->last) {
        end(lane);
    }
    return true;
}

bool gf_incoming_turn(struct gf_carrier_lane *lane)
{
    bool moved = false;

    while (notice(lane)) {
        moved = true;
    }
    while (!lane->broken && begin_flush(lane)) {
        moved = true;
    }
    while (!lane->broken && begin_store(lane)) {
        moved = true;
    }
    while (!lane->broken && retire_grant(lane)) {
        moved = true;
    }
    while (!lane->broken && give_credit(lane)) {
        moved = true;
    }
    return moved;
}

void gf_incoming_fail(struct gf_carrier_lane *lane)
{
    struct gf_incoming *in = &lane->in;

    for (; in->done < in->given; in->done++) {
        gf_pieces_give(&lane->carrier->in_pieces, in->grants[in->done % GF_CARRIER_CREDITS].piece);
    }
    while (in->first) {
        gf_carrier_fail_end(&in->first->end, GF_ERR_PEER, &lane->why);
        end(lane);
    }
}

/* With the lock held. */
static void enqueue(struct gf_carrier_lane *lane, struct gf_carrier_in *message)
{
    *lane->in.newest = message;
    lane->in.newest = &message->next;
    gf_carrier_count(lane->carrier);
}

gf_status gf_carrier_receive(struct gf_carrier_lane *lane, uint64_t id, const struct gf_carrier_data *data,
                             struct gf_carrier_in *message, struct gf_reason *how)
{
    struct gf_carrier *carrier = lane->carrier;
    struct gf_reason why = { "" };

    *message = (struct gf_carrier_in){ .id = id, .data = *data, .kind = GF_CREDIT_PUT };
    gf_carrier_register(carrier, true, &message->data, &why);
    bool reached = message->data.place || data->bytes == 0;

    pthread_mutex_lock(&carrier->lock);
    gf_status status = gf_carrier_admit(lane, reached ? NULL : &carrier->in_pieces, how);

    if (status == GF_OK) {
        enqueue(lane, message);
    }
    pthread_mutex_unlock(&carrier->lock);
    if (status != GF_OK) {
        gf_carrier_forget(carrier, &message->data, false);
        return status;
    }
    gf_carrier_tell(reached, &why, how);
    return GF_OK;
}

gf_status gf_carrier_receive_poll(const struct gf_carrier_in *message, struct gf_reason *why)
{
    return gf_carrier_poll_end(&message->end, why);
}

void gf_carrier_refuse(struct gf_carrier_lane *lane, uint64_t id, bool elsewhere)
{
    struct gf_carrier_in *message = calloc(1, sizeof *message);

    if (!message) {
        return;
    }
    message->id = id;
    message->kind = elsewhere ? GF_CREDIT_ELSEWHERE : GF_CREDIT_REFUSED;
    message->own = true;
    pthread_mutex_lock(&lane->carrier->lock);
    if (gf_carrier_lane_lives(lane)) {
        enqueue(lane, message);
        message = NULL;
    }
    pthread_mutex_unlock(&lane->carrier->lock);
    free(message);
}
