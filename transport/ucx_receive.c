/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a lane of the UCX wire receives. Nothing is written before all that the peer says has been held against what this end
 * registered, announced and expects; what does not agree breaks the lane, at both ends. Puts and notifications may come in any
 * order, and their data end in any: each has its place in a ring, by its step, and a notification is taken after all before it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/host_ordered.h"
#include "transport/ucx_private.h"

enum {
    FIRST_RING = 16,
    RING_MAX = 4096                /* puts and notifications that may be known, of which an earlier one is not done */
};

static struct gf_ucx_arrival *arrival_of(const struct gf_ucx_lane *lane, uint64_t step)
{
    return &lane->ring[step & (lane->ring_size - 1)];
}

/* Room for a step. */
static bool ring_reach(struct gf_ucx_lane *lane, uint64_t step)
{
    uint64_t size = lane->ring_size == 0 ? FIRST_RING : lane->ring_size;
    struct gf_ucx_arrival *ring;

    while (step - lane->taken >= size) {
        size *= 2;
    }
    if (size == lane->ring_size) {
        return true;
    }
    ring = calloc(size, sizeof *ring);
    if (ring == NULL) {
        return false;
    }
    for (uint64_t i = lane->taken; i < lane->taken + lane->ring_size; i++) {
        ring[i & (size - 1)] = *arrival_of(lane, i);
    }
    free(lane->ring);
    lane->ring = ring;
    lane->ring_size = size;
    return true;
}

/* Puts that are done need nobody to take them. */
static void puts_pass(struct gf_ucx_lane *lane)
{
    while (lane->ring_size > 0 && arrival_of(lane, lane->taken)->done && !arrival_of(lane, lane->taken)->notify) {
        *arrival_of(lane, lane->taken++) = (struct gf_ucx_arrival){0};
    }
}

gf_status gf_ucx_expect(struct gf_wire_lane *base)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);

    if (gf_host_observe_flag(&lane->broken)) {
        return lane->status;
    }
    if (!gf_ucx_try_lock(gf_ucx_of(lane))) {
        return GF_NO_RESOURCE;
    }
    lane->expected++;
    gf_ucx_unlock(gf_ucx_of(lane));
    return GF_OK;
}

bool gf_ucx_take(struct gf_wire_lane *base, uint32_t *immediate)
{
    struct gf_ucx_lane *lane = gf_ucx_lane_of(base);
    bool some;

    if (!gf_ucx_try_lock(gf_ucx_of(lane))) {
        return false;
    }
    /* Puts have passed: what is done is a notification. */
    some = lane->ring_size > 0 && arrival_of(lane, lane->taken)->done;
    if (some) {
        *immediate = arrival_of(lane, lane->taken)->immediate;
        *arrival_of(lane, lane->taken++) = (struct gf_ucx_arrival){0};
        puts_pass(lane);
    }
    gf_ucx_unlock(gf_ucx_of(lane));
    return some;
}

static ucs_status_t refuse(struct gf_ucx_lane *lane, const char *what)
{
    gf_ucx_lane_break(lane, GF_ERR_PEER, "the peer sent %s", what);
    gf_ucx_refuse(lane);
    return UCS_ERR_REJECTED;
}

/* Where the data of a put or notification go; null: not to where this end said that they may. */
static char *target_of(const struct gf_ucx_lane *lane, const struct gf_ucx_header *header, size_t bytes)
{
    const struct gf_wire_memory *memory = gf_key_table_find(&lane->announced, header->key);
    uint64_t offset;

    if (memory == NULL) {
        return NULL;
    }
    /* An address below the first is far above the last. */
    offset = header->address - (uintptr_t)memory->address;
    return bytes <= memory->bytes && offset <= memory->bytes - bytes ? memory->address + offset : NULL;
}

/* The peer will be told, by the next message or in the next turn; not by a lane that is about to be freed. */
static void arrival_done(struct gf_ucx_lane *lane, uint64_t step)
{
    struct gf_ucx_wire *wire = gf_ucx_of(lane);

    arrival_of(lane, step)->done = true;
    while (lane->arrived - lane->taken < lane->ring_size && arrival_of(lane, lane->arrived)->done) {
        lane->arrived++;
    }
    puts_pass(lane);
    if (lane->arrived != lane->told && !lane->is_untold && !lane->destroyed) {
        lane->is_untold = true;
        lane->next_untold = wire->untold;
        wire->untold = lane;
    }
}

static void data_ended(struct gf_ucx_op *op, ucs_status_t status)
{
    if (status == UCS_OK) {
        arrival_done(op->lane, op->header.step);
    }
    gf_ucx_op_end(op, status);
}

static void data_received(void *request, ucs_status_t status, size_t bytes, void *argument)
{
    struct gf_ucx_op *op = argument;

    (void)bytes;
    gf_ucx_of(op->lane)->ucx.ucp_request_free(request);
    data_ended(op, status);
}

/* By rendezvous: UCX fetches them, or has them put there. */
static ucs_status_t data_fetch(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, char *to, void *description)
{
    struct gf_ucx_wire *wire = gf_ucx_of(lane);
    struct gf_ucx_op *op = gf_ucx_op_begin(lane, NULL);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = data_received,
        .user_data = op,
    };
    ucs_status_ptr_t request;

    if (op == NULL) {
        gf_ucx_lane_break(lane, GF_ERR_NO_MEMORY, "no memory to receive the peer's data");
        return UCS_ERR_NO_MEMORY;
    }
    op->header = *header;
    request = wire->ucx.ucp_am_recv_data_nbx(wire->worker, description, to, header->bytes, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        data_ended(op, UCS_PTR_RAW_STATUS(request));
    }
    return UCS_OK;
}

static ucs_status_t put_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, void *data, size_t bytes,
                                bool rendezvous)
{
    bool notify = header->kind == GF_UCX_KIND_NOTIFY;
    char *to = NULL;

    if (header->step - lane->taken >= RING_MAX || !ring_reach(lane, header->step) || arrival_of(lane, header->step)->known) {
        return refuse(lane, "a message out of turn");
    }
    if (notify && lane->notified == lane->expected) {
        return refuse(lane, "a notification that nobody expects");
    }
    if (bytes != header->bytes || (bytes > 0 && (to = target_of(lane, header, bytes)) == NULL)) {
        return refuse(lane, "data to where it may not put any");
    }
    *arrival_of(lane, header->step) = (struct gf_ucx_arrival){
        .known = true, .notify = notify, .immediate = (uint32_t)header->immediate,
    };
    lane->notified += notify;
    if (rendezvous) {
        return data_fetch(lane, header, to, data);
    }
    if (bytes > 0) {
        memcpy(to, data, bytes);
    }
    arrival_done(lane, header->step);
    return UCS_OK;
}

/* The words between the first and the last are there when either is found new. */
static void line_store(char *line, const char *from)
{
    uint64_t words[GF_WIRE_LINE / sizeof(uint64_t)];
    uint64_t *to = (uint64_t *)(void *)line;
    size_t last = GF_WIRE_LINE / sizeof(uint64_t) - 1;

    memcpy(words, from, sizeof words);
    memcpy(to + 1, words + 1, (last - 1) * sizeof *to);
    gf_host_publish(to, words[0]);
    gf_host_publish(to + last, words[last]);
}

static ucs_status_t lines_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, const char *data, size_t bytes)
{
    size_t count = bytes / GF_WIRE_LINE;

    if (bytes % GF_WIRE_LINE != 0 || count == 0 || count > GF_UCX_LINES || count > lane->base.line_count ||
        header->step > lane->base.line_count - count) {
        return refuse(lane, "lines that do not fit");
    }
    for (size_t i = 0; i < count; i++) {
        line_store(lane->base.lines + (header->step + i) * GF_WIRE_LINE, data + i * GF_WIRE_LINE);
    }
    return UCS_OK;
}

static ucs_status_t message_receive(struct gf_ucx_lane *lane, const struct gf_ucx_header *header, void *data, size_t bytes,
                                    bool rendezvous)
{
    switch (header->kind) {
    case GF_UCX_KIND_PUT:
    case GF_UCX_KIND_NOTIFY:
        return put_receive(lane, header, data, bytes, rendezvous);
    case GF_UCX_KIND_LINES:
        return rendezvous ? refuse(lane, "lines by rendezvous") : lines_receive(lane, header, data, bytes);
    case GF_UCX_KIND_REFUSAL:
        gf_ucx_lane_break(lane, GF_ERR_PEER,
                          "the peer has refused what was sent to it, a wrong place or number, and broken the lane");
        return UCS_OK;
    case GF_UCX_KIND_ARRIVED:
        return UCS_OK;
    default:
        return refuse(lane, "a message of unknown kind");
    }
}

/* The status is for UCX only where the data come by rendezvous: it tells the sender. */
ucs_status_t gf_ucx_receive(void *argument, const void *bytes_of_header, size_t header_bytes, void *data, size_t bytes,
                            const ucp_am_recv_param_t *param)
{
    struct gf_ucx_wire *wire = argument;
    bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    struct gf_ucx_header header;
    struct gf_ucx_lane *lane;
    ucs_status_t status;

    if (header_bytes != sizeof header) {
        gf_log(wire->log, GF_LOG_WARN, "%s: a message that is none of gpufifo's came, and is ignored", wire->base.name);
        return UCS_OK;
    }
    memcpy(&header, bytes_of_header, sizeof header);
    lane = gf_ucx_lane_find(wire, header.lane);
    /* Late messages for a lane that is gone, or broken, are nobody's. */
    if (lane == NULL || lane->broken) {
        return UCS_OK;
    }
    if (!gf_ucx_confirmed(lane, header.arrived)) {
        refuse(lane, "word of the arrival of what was never sent to it");
        return UCS_OK;
    }
    if (lane->destroyed) {
        return UCS_OK;
    }
    status = message_receive(lane, &header, data, bytes, rendezvous);
    return rendezvous ? status : UCS_OK;
}
