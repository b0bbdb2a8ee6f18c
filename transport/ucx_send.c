/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a lane of the UCX wire sends. UCX promises no order between puts and active messages, so a notification waits in the lane
 * for the flush of what was put before it, and for those before it; the receiver counts them once more.
 */
#include <stdlib.h>
#include <string.h>

#include "core/host_ordered.h"
#include "transport/ucx_private.h"

static void op_ended(void *request, ucs_status_t status, void *argument)
{
    struct gf_ucx_op *op = argument;

    gf_ucx_of(op->lane)->ucx.ucp_request_free(request);
    gf_ucx_op_end(op, status);
}

/* What a call for an op gave back. UCX does not call back if it has ended already. */
static void op_started(struct gf_ucx_op *op, ucs_status_ptr_t request)
{
    if (!UCS_PTR_IS_PTR(request)) {
        gf_ucx_op_end(op, UCS_PTR_RAW_STATUS(request));
    }
}

static void message_send(struct gf_ucx_op *op)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = op_ended,
        .user_data = op,
    };

    op_started(op, gf_ucx_of(op->lane)->ucx.ucp_am_send_nbx(op->lane->peer->ep, GF_UCX_MESSAGE, &op->header, sizeof op->header,
                                                            op->payload, op->payload_bytes, &param));
}

static void data_send(struct gf_ucx_op *op, const struct gf_wire_memory *memory, const void *from, size_t bytes,
                      uint64_t to, ucp_rkey_h rkey)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = op_ended,
        .user_data = op,
    };

#if UCP_API_VERSION >= UCP_VERSION(1, 13)
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh = memory->handle;
#else
    (void)memory;
#endif
    op->lane->unflushed = true;
    op_started(op, gf_ucx_of(op->lane)->ucx.ucp_put_nbx(op->lane->peer->ep, from, bytes, to, rkey, &param));
}

/* Notifications whose turn it is. */
static void notes_send(struct gf_ucx_lane *lane)
{
    while (lane->notes.first != NULL && !lane->notes.first->flushing) {
        message_send(gf_ucx_queue_pop(&lane->notes));
    }
}

static void flush_ended(void *request, ucs_status_t status, void *argument)
{
    struct gf_ucx_op *op = argument;
    struct gf_ucx_lane *lane = op->lane;

    if (request != NULL) {
        gf_ucx_of(lane)->ucx.ucp_request_free(request);
    }
    op->flushing = false;
    if (lane->broken) {
        gf_ucx_op_end(op, UCS_ERR_CANCELED);
    } else if (status != UCS_OK) {
        gf_ucx_lane_fail(lane, status);
    } else {
        notes_send(lane);
    }
}

static void flush_begin(struct gf_ucx_op *op)
{
    struct gf_ucx_lane *lane = op->lane;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = flush_ended,
        .user_data = op,
    };
    ucs_status_ptr_t request;

    op->flushing = true;
    lane->unflushed = false;
    request = gf_ucx_of(lane)->ucx.ucp_ep_flush_nbx(lane->peer->ep, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        flush_ended(NULL, UCS_PTR_RAW_STATUS(request), op);
    }
}

void gf_ucx_notes_drop(struct gf_ucx_lane *lane)
{
    struct gf_ucx_op *op;

    /* The flush of the others calls back. */
    while ((op = gf_ucx_queue_pop(&lane->notes)) != NULL) {
        if (!op->flushing) {
            gf_ucx_op_end(op, UCS_ERR_CANCELED);
        }
    }
}

/* An operation may begin: the lock is held if GF_OK. */
static gf_status enter(struct gf_ucx_lane *lane)
{
    struct gf_ucx_wire *wire = gf_ucx_of(lane);

    if (gf_host_observe_flag(&lane->broken)) {
        return lane->status;
    }
    if (lane->peer == NULL) {
        return GF_ERR_INVALID;
    }
    if (!gf_ucx_try_lock(wire)) {
        return GF_NO_RESOURCE;
    }
    return GF_OK;
}

/* The peer's key, if what is put lies inside of what it announced. */
static gf_status key_for(struct gf_ucx_lane *lane, const struct gf_wire_place *to, size_t bytes, struct gf_ucx_key **key)
{
    struct gf_ucx_library *ucx = &gf_ucx_of(lane)->ucx;
    struct gf_ucx_key *found = gf_key_table_find(&lane->keys, to->key);
    ucs_status_t status;

    if (found == NULL) {
        return GF_NO_RESOURCE;
    }
    if (to->address < found->address || bytes > found->bytes || to->address - found->address > found->bytes - bytes) {
        return gf_ucx_lane_break(lane, GF_ERR_INVALID, "a put of %zu bytes lies outside of the %llu that the peer announced by "
                                 "key %u", bytes, (unsigned long long)found->bytes, to->key);
    }
    if (found->rkey == NULL) {
        status = ucx->ucp_ep_rkey_unpack(lane->peer->ep, found->packed, &found->rkey);
        if (status != UCS_OK) {
            return gf_ucx_lane_break(lane, gf_ucx_status(status), "UCX cannot use the peer's key %u over %s: %s", to->key,
                                     lane->peer->path, ucx->ucs_status_string(status));
        }
    }
    *key = found;
    return GF_OK;
}

static gf_status put(struct gf_ucx_lane *lane, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_key *key;
    struct gf_ucx_op *op;
    gf_status status = key_for(lane, to, bytes, &key);

    if (status != GF_OK) {
        return status;
    }
    op = gf_ucx_op_begin(lane, ticket);
    if (op == NULL) {
        return GF_NO_RESOURCE;
    }
    data_send(op, memory, from, bytes, to->address, key->rkey);
    return lane->broken ? lane->status : GF_OK;
}

gf_status gf_ucx_put(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    gf_status status = enter(lane);

    if (status != GF_OK) {
        return status;
    }
    if (bytes > 0) {
        status = put(lane, memory, from, to, bytes, ticket);
    } else if (ticket != NULL && ticket->word != NULL) {
        *ticket->word = ticket->value;
    }
    wire->counts.puts += status == GF_OK;
    gf_ucx_unlock(wire);
    return status;
}

/* The notification alone, or with short data. */
static gf_status notify(struct gf_ucx_lane *lane, struct gf_ucx_op *note, uint32_t immediate)
{
    note->header.kind = GF_UCX_KIND_NOTIFY;
    note->header.immediate = immediate;
    note->header.step = lane->notified++;
    gf_ucx_queue_push(&lane->notes, note);
    if (lane->unflushed) {
        flush_begin(note);
    } else {
        notes_send(lane);
    }
    return lane->broken ? lane->status : GF_OK;
}

static gf_status notify_short(struct gf_ucx_lane *lane, const void *from, const struct gf_wire_place *to, size_t bytes,
                              uint32_t immediate, const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_key *key;
    struct gf_ucx_op *note;
    gf_status status = bytes > 0 ? key_for(lane, to, bytes, &key) : GF_OK;

    if (status != GF_OK) {
        return status;
    }
    note = gf_ucx_op_begin(lane, ticket);
    if (note == NULL) {
        return GF_NO_RESOURCE;
    }
    if (bytes > 0) {
        note->header.key = to->key;
        note->header.address = to->address;
        note->header.bytes = bytes;
        note->payload = from;
        note->payload_bytes = bytes;
    }
    return notify(lane, note, immediate);
}

static gf_status notify_long(struct gf_ucx_lane *lane, const struct gf_wire_memory *memory, const void *from,
                             const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                             const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_op *note = gf_ucx_op_begin(lane, NULL);
    gf_status status;

    if (note == NULL) {
        return GF_NO_RESOURCE;
    }
    status = put(lane, memory, from, to, bytes, ticket);
    if (status != GF_OK) {
        gf_ucx_op_end(note, UCS_OK);
        return status;
    }
    return notify(lane, note, immediate);
}

gf_status gf_ucx_put_notify(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                            const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                            const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    gf_status status = enter(lane);

    if (status != GF_OK) {
        return status;
    }
    if (bytes > GF_UCX_SHORT) {
        status = notify_long(lane, memory, from, to, bytes, immediate, ticket);
    } else {
        status = notify_short(lane, from, to, bytes, immediate, ticket);
    }
    wire->counts.notifies += status == GF_OK;
    gf_ucx_unlock(wire);
    return status;
}

gf_status gf_ucx_put_lines(struct gf_wire_lane *base, uint32_t index, const void *lines, uint32_t count)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    struct gf_ucx_op *op;
    gf_status status = enter(lane);

    if (status != GF_OK) {
        return status;
    }
    if (count == 0 || count > GF_UCX_LINES) {
        status = GF_ERR_INVALID;
    } else if ((op = gf_ucx_op_begin(lane, NULL)) == NULL) {
        status = GF_NO_RESOURCE;
    } else {
        op->header.kind = GF_UCX_KIND_LINES;
        op->header.step = index;
        op->payload_bytes = (size_t)count * GF_WIRE_LINE;
        op->payload = memcpy(op->lines, lines, op->payload_bytes);
        message_send(op);
        wire->counts.line_puts++;
        status = lane->broken ? lane->status : GF_OK;
    }
    gf_ucx_unlock(wire);
    return status;
}

static gf_status announce(struct gf_ucx_lane *lane, const struct gf_wire_memory *memory)
{
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    struct gf_ucx_op *op;
    void *packed;
    size_t bytes;

    if (gf_key_table_find(&lane->announced, memory->key) != NULL) {
        return GF_OK;
    }
    op = gf_ucx_op_begin(lane, NULL);
    if (op == NULL) {
        return GF_NO_RESOURCE;
    }
    if (wire->ucx.ucp_rkey_pack(wire->context, memory->handle, &packed, &bytes) != UCS_OK) {
        gf_ucx_op_end(op, UCS_OK);
        return GF_NO_RESOURCE;
    }
    op->owned = malloc(bytes);
    if (op->owned == NULL || !gf_key_table_add(&lane->announced, memory->key, (void *)(uintptr_t)memory)) {
        wire->ucx.ucp_rkey_buffer_release(packed);
        gf_ucx_op_end(op, UCS_OK);
        return GF_NO_RESOURCE;
    }
    op->payload = memcpy(op->owned, packed, bytes);
    op->payload_bytes = bytes;
    wire->ucx.ucp_rkey_buffer_release(packed);
    op->header.kind = GF_UCX_KIND_KEY;
    op->header.key = memory->key;
    op->header.address = (uintptr_t)memory->address;
    op->header.bytes = memory->bytes;
    message_send(op);
    return lane->broken ? lane->status : GF_OK;
}

gf_status gf_ucx_announce(struct gf_wire_lane *base, const struct gf_wire_memory *memory)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    gf_status status = enter(lane);

    if (status == GF_OK) {
        status = announce(lane, memory);
        gf_ucx_unlock(gf_ucx_of(lane));
    }
    return status;
}
