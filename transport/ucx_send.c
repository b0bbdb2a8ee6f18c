/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a lane of the UCX wire sends: active messages. Puts and notifications are counted, for the receiver, since UCX promises no
 * order among them.
 */
#include <string.h>

#include "core/host_ordered.h"
#include "transport/ucx_private.h"

static bool is_confirmed(const struct gf_ucx_op *op)
{
    return op->header.kind == GF_UCX_KIND_PUT || op->header.kind == GF_UCX_KIND_NOTIFY;
}

void gf_ucx_unconfirmed_end(struct gf_ucx_lane *lane)
{
    struct gf_ucx_queue *queue = &lane->unconfirmed;

    while (queue->first != NULL && queue->first->ended && (lane->broken || queue->first->header.step < lane->confirmed)) {
        gf_ucx_op_end(gf_ucx_queue_pop(queue), lane->broken ? UCS_ERR_CANCELED : UCS_OK);
    }
}

static void op_ended(struct gf_ucx_op *op, ucs_status_t status)
{
    struct gf_ucx_lane *lane = op->lane;

    if (!is_confirmed(op)) {
        gf_ucx_op_end(op, status);
        return;
    }
    op->ended = true;
    if (status != UCS_OK) {
        gf_ucx_lane_fail(lane, status);
    }
    gf_ucx_unconfirmed_end(lane);
}

static void called_back(void *request, ucs_status_t status, void *argument)
{
    struct gf_ucx_op *op = argument;

    gf_ucx_of(op->lane)->ucx.ucp_request_free(request);
    op_ended(op, status);
}

/* memory: that the payload is in, or null. */
static void message_send(struct gf_ucx_op *op, const void *payload, size_t bytes, const struct gf_wire_memory *memory)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = called_back,
        .user_data = op,
    };
    ucs_status_ptr_t request;

#if UCP_API_VERSION >= UCP_VERSION(1, 13)
    if (memory != NULL && bytes > 0) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        param.memh = memory->handle;
    }
#else
    (void)memory;
#endif
    op->header.arrived = op->lane->told = op->lane->arrived;
    if (is_confirmed(op)) {
        gf_ucx_queue_push(&op->lane->unconfirmed, op);
    }
    request = gf_ucx_of(op->lane)->ucx.ucp_am_send_nbx(op->lane->peer->ep, GF_UCX_MESSAGE, &op->header, sizeof op->header,
                                                       payload, bytes, &param);
    /* UCX does not call back if it has ended already. */
    if (!UCS_PTR_IS_PTR(request)) {
        op_ended(op, UCS_PTR_RAW_STATUS(request));
    }
}

/* An operation may begin: the lock is held if GF_OK. */
static gf_status enter(struct gf_ucx_lane *lane)
{
    if (gf_host_observe_flag(&lane->broken)) {
        return lane->status;
    }
    if (lane->peer == NULL) {
        return GF_ERR_INVALID;
    }
    return gf_ucx_try_lock(gf_ucx_of(lane)) ? GF_OK : GF_NO_RESOURCE;
}

/* The op of one that may begin. */
static gf_status begin(struct gf_ucx_lane *lane, const struct gf_wire_ticket *ticket, struct gf_ucx_op **op)
{
    *op = lane->in_flight < GF_UCX_IN_FLIGHT ? gf_ucx_op_begin(lane, ticket) : NULL;
    return *op != NULL ? GF_OK : GF_NO_RESOURCE;
}

gf_status gf_ucx_announce(struct gf_wire_lane *base, const struct gf_wire_memory *memory)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    gf_status status = enter(lane);

    if (status != GF_OK) {
        return status;
    }
    if (gf_key_table_find(&lane->announced, memory->key[0]) == NULL &&
        !gf_key_table_add(&lane->announced, memory->key[0], (void *)(uintptr_t)memory)) {
        status = GF_NO_RESOURCE;
    }
    gf_ucx_unlock(gf_ucx_of(lane));
    return status;
}

/* A put, or a notification with or without data: header has what is special. */
static gf_status put(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, const struct gf_wire_memory *memory,
                     const void *from, const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_op *op;
    gf_status status = begin(lane, ticket, &op);

    if (status != GF_OK) {
        return status;
    }
    op->header = *header;
    op->header.lane = lane->theirs;
    op->header.step = lane->sent++;
    message_send(op, from, header->bytes, memory);
    return lane->broken ? lane->status : GF_OK;
}

gf_status gf_ucx_put(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_header header = {.kind = GF_UCX_KIND_PUT, .key = to->key, .address = to->address, .bytes = bytes};
    gf_status status = enter(lane);

    if (status != GF_OK) {
        return status;
    }
    status = put(lane, &header, memory, from, ticket);
    gf_ucx_of(lane)->counts.puts += status == GF_OK;
    gf_ucx_unlock(gf_ucx_of(lane));
    return status;
}

gf_status gf_ucx_put_notify(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                            const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                            const struct gf_wire_ticket *ticket)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_header header = {
        .kind = GF_UCX_KIND_NOTIFY, .key = to->key, .address = to->address, .bytes = bytes, .immediate = immediate,
    };
    gf_status status = enter(lane);

    if (status != GF_OK) {
        return status;
    }
    status = put(lane, &header, memory, from, ticket);
    gf_ucx_of(lane)->counts.notifies += status == GF_OK;
    gf_ucx_unlock(gf_ucx_of(lane));
    return status;
}

gf_status gf_ucx_put_lines(struct gf_wire_lane *base, uint32_t index, const void *lines, uint32_t count)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    struct gf_ucx_op *op;
    gf_status status = count > 0 && count <= GF_UCX_LINES ? enter(lane) : GF_ERR_INVALID;

    if (status != GF_OK) {
        return status;
    }
    status = begin(lane, NULL, &op);
    if (status == GF_OK) {
        op->header.kind = GF_UCX_KIND_LINES;
        op->header.step = index;
        memcpy(op->lines, lines, (size_t)count * GF_WIRE_LINE);
        message_send(op, op->lines, (size_t)count * GF_WIRE_LINE, NULL);
        gf_ucx_of(lane)->counts.line_puts++;
        status = lane->broken ? lane->status : GF_OK;
    }
    gf_ucx_unlock(gf_ucx_of(lane));
    return status;
}

/* A message of ours, not of a caller's. */
static void tell(struct gf_ucx_lane *lane, enum gf_ucx_kind kind)
{
    struct gf_ucx_op *op = lane->peer != NULL && !lane->peer->broken ? gf_ucx_op_begin(lane, NULL) : NULL;

    if (op != NULL) {
        op->header.kind = kind;
        message_send(op, NULL, 0, NULL);
    }
}

void gf_ucx_refuse(struct gf_ucx_lane *lane)
{
    tell(lane, GF_UCX_KIND_REFUSAL);
}

void gf_ucx_confirm(struct gf_ucx_lane *lane)
{
    if (lane->told != lane->arrived && !lane->broken) {
        tell(lane, GF_UCX_KIND_ARRIVED);
    }
}

void gf_ucx_confirm_all(struct gf_ucx_wire *wire)
{
    struct gf_ucx_lane *lane, *rest = wire->untold;

    wire->untold = NULL;
    while ((lane = rest) != NULL) {
        rest = lane->next_untold;
        lane->is_untold = false;
        gf_ucx_confirm(lane);
    }
}

bool gf_ucx_confirmed(struct gf_ucx_lane *lane, uint64_t arrived)
{
    if (arrived > lane->sent) {
        return false;
    }
    if (arrived > lane->confirmed) {
        lane->confirmed = arrived;
        if (lane->peer != NULL) {
            lane->peer->silent = false;
        }
        gf_ucx_unconfirmed_end(lane);
    }
    return true;
}
