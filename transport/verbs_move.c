/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations on lanes. None waits: where a queue is full the caller comes back after progress.
 */
#include "transport/verbs_private.h"

#include <string.h>

#include <arpa/inet.h>

gf_status gf_verbs_lane_status(const struct verbs_lane *lane, struct gf_reason *why)
{
    const struct verbs_wire *wire = verbs_wire_of(lane->base.wire);
    const struct gf_reason *reason = lane->queue.status != GF_OK ? &lane->queue.why
        : wire->loopback.status != GF_OK ? &wire->loopback.why : &wire->why;
    gf_status status = lane->queue.status != GF_OK ? lane->queue.status
        : wire->loopback.status != GF_OK ? wire->loopback.status : wire->status;

    if (status != GF_OK && why) {
        *why = *reason;
    }
    return status;
}

/* May `sends` more begin? */
static gf_status may_begin(const struct verbs_lane *lane, const struct gf_verbs_queue *queue, uint32_t sends)
{
    gf_status status = gf_verbs_lane_status(lane, NULL);

    if (status == GF_OK && (!lane->connected || !gf_verbs_queue_has_room(queue, sends))) {
        status = GF_NO_RESOURCE;
    }
    return status;
}

/* A caller that is wrong about its memory breaks its lane: data of others would be sent. */
static gf_status check_source(struct verbs_lane *lane, const struct gf_wire_memory *memory, const void *from, size_t bytes)
{
    if (bytes > 0 && (!memory || (const char *)from < memory->address || bytes > memory->bytes ||
                      (size_t)((const char *)from - memory->address) > memory->bytes - bytes)) {
        gf_verbs_queue_break(&lane->queue, GF_ERR_INVALID,
                             "%s: %zu bytes to be sent lie outside of the memory registered for them",
                             lane->base.wire->name, bytes);
    } else if (bytes > lane->base.wire->caps.put_bytes) {
        gf_verbs_queue_break(&lane->queue, GF_ERR_INVALID, "%s: %zu bytes are to be sent at once, but %zu is the most",
                             lane->base.wire->name, bytes, lane->base.wire->caps.put_bytes);
    }
    return lane->queue.status;
}

/* Both kinds of puts; immediate null: no notification. */
static gf_status put(struct verbs_lane *lane, const struct gf_wire_memory *memory, const void *from,
                     const struct gf_wire_place *to, size_t bytes, const uint32_t *immediate, const struct gf_wire_ticket *ticket)
{
    gf_status status = may_begin(lane, &lane->queue, 1);

    if (status == GF_OK) {
        status = check_source(lane, memory, from, bytes);
    }
    if (status != GF_OK) {
        return status;
    }
    const struct ibv_mr *region = bytes > 0 ? memory->handle : NULL;
    struct ibv_sge piece = { .addr = (uintptr_t)from, .length = (uint32_t)bytes, .lkey = region ? region->lkey : 0 };
    struct ibv_send_wr send = {
        .sg_list = &piece, .num_sge = bytes > 0, .opcode = immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
        .imm_data = immediate ? htonl(*immediate) : 0, .wr.rdma = { .remote_addr = to->address, .rkey = to->key },
    };

    return gf_verbs_queue_post(&lane->queue, &send, ticket);
}

gf_status gf_verbs_put(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                       const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket)
{
    gf_status status = put(verbs_lane_of(base), memory, from, to, bytes, NULL, ticket);

    verbs_wire_of(base->wire)->counts.puts += status == GF_OK;
    return status;
}

gf_status gf_verbs_put_notify(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                              const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                              const struct gf_wire_ticket *ticket)
{
    gf_status status = put(verbs_lane_of(base), memory, from, to, bytes, &immediate, ticket);

    verbs_wire_of(base->wire)->counts.notifies += status == GF_OK;
    return status;
}

gf_status gf_verbs_put_lines(struct gf_wire_lane *base, uint32_t index, const void *lines, uint32_t count)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    size_t bytes = (size_t)count * GF_WIRE_LINE, step = lane->queue.inline_bytes;
    gf_status status = may_begin(lane, &lane->queue, (uint32_t)((bytes + step - 1) / step));

    if (status == GF_OK && (index > lane->peer_line_count || count > lane->peer_line_count - index)) {
        gf_verbs_queue_break(&lane->queue, GF_ERR_INVALID, "%s: lines %u and %u more are beyond the peer's %u", base->wire->name,
                             index, count, lane->peer_line_count);
        status = lane->queue.status;
    }
    for (size_t at = 0; status == GF_OK && at < bytes; at += step) {
        struct ibv_sge piece = {
            .addr = (uintptr_t)lines + at, .length = (uint32_t)(bytes - at < step ? bytes - at : step),
        };
        struct ibv_send_wr send = {
            .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE,
            .wr.rdma = { .remote_addr = lane->peer_lines.address + (uint64_t)index * GF_WIRE_LINE + at,
                .rkey = lane->peer_lines.key },
        };

        status = gf_verbs_queue_post(&lane->queue, &send, NULL);
    }
    verbs_wire_of(base->wire)->counts.line_puts += status == GF_OK;
    return status;
}

gf_status gf_verbs_expect(struct gf_wire_lane *base)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    gf_status status = gf_verbs_lane_status(lane, NULL);

    if (status == GF_OK && lane->queue.expected == lane->queue.taken + GF_VERBS_RECEIVES) {
        status = GF_NO_RESOURCE;
    }
    return status == GF_OK ? gf_verbs_queue_post_receive(&lane->queue) : status;
}

bool gf_verbs_take(struct gf_wire_lane *base, uint32_t *immediate)
{
    struct gf_verbs_queue *queue = &verbs_lane_of(base)->queue;

    if (queue->taken == queue->arrived) {
        return false;
    }
    *immediate = queue->immediates[queue->taken++ % GF_VERBS_RECEIVES];
    return true;
}

gf_status gf_verbs_flush(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *at,
                         const struct gf_wire_ticket *ticket)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct verbs_wire *wire = verbs_wire_of(base->wire);
    gf_status status = may_begin(lane, &wire->loopback, 1);

    if (status == GF_OK) {
        status = check_source(lane, memory, at, 1);
    }
    if (status != GF_OK) {
        return status;
    }
    struct ibv_sge piece = { .addr = (uintptr_t)wire->sink, .length = 1, .lkey = wire->sink_memory->lkey };
    struct ibv_send_wr send = {
        .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
        .wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = memory->key },
    };

    pthread_mutex_lock(&wire->lock);
    wire->flushing[wire->loopback.sent % GF_VERBS_SENDS] = lane;
    status = gf_verbs_queue_post(&wire->loopback, &send, ticket);
    pthread_mutex_unlock(&wire->lock);
    wire->counts.flushes += status == GF_OK;
    return status;
}

void gf_verbs_flushes_forget(struct verbs_wire *wire, const struct verbs_lane *lane)
{
    pthread_mutex_lock(&wire->lock);
    for (uint32_t place = 0; place < GF_VERBS_SENDS; place++) {
        if (wire->flushing[place] == lane) {
            wire->flushing[place] = NULL;
            wire->loopback.tickets[place].word = NULL;
        }
    }
    pthread_mutex_unlock(&wire->lock);
}
