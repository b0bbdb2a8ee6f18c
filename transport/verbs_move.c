/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations on lanes. None waits: where a queue is full the caller comes back after progress.
 *
 * A lane of several queue pairs carries long data in shares, one a pair. A pair's writes arrive in their order, and say nothing
 * of those of another. So a notification goes over each of them, behind what was put over it before, with its share or with
 * nothing; the peer takes the n-th one of the lane when the n-th of each pair has come. Nobody waits for a completion in between,
 * as a notification over one pair alone would have to until the others' data are known to have arrived: a trip more.
 */
#include "transport/verbs_private.h"

#include <string.h>

#include <arpa/inet.h>

enum {
    SPREAD_FROM = 64 << 10,        /* shorter data go over the first pair alone */
    SPREAD_UNIT = 4096             /* of a share: no packet of any MTU is cut short */
};

gf_status gf_verbs_lane_status(const struct verbs_lane *lane, struct gf_reason *why)
{
    const struct gf_verbs_rail *rail = lane->rail;
    const struct gf_reason *reason = &rail->why;
    gf_status status = rail->status;

    if (rail->loopback.status != GF_OK) {
        reason = &rail->loopback.why;
        status = rail->loopback.status;
    }
    for (int i = lane->pairs - 1; i >= 0; i--) {
        if (lane->queues[i].status != GF_OK) {
            reason = &lane->queues[i].why;
            status = lane->queues[i].status;
        }
    }
    if (status != GF_OK && why) {
        *why = *reason;
    }
    return status;
}

/* May `sends` more begin on each of the first `count` queues of these? */
static gf_status may_begin(const struct verbs_lane *lane, const struct gf_verbs_queue *queues, int count, uint32_t sends)
{
    gf_status status = gf_verbs_lane_status(lane, NULL);

    for (int i = 0; i < count && status == GF_OK; i++) {
        if (!lane->connected || !gf_verbs_queue_has_room(&queues[i], sends)) {
            status = GF_NO_RESOURCE;
        }
    }
    return status;
}

/* A caller that is wrong about its memory breaks its lane: data of others would be sent. */
static gf_status check_source(struct verbs_lane *lane, const struct gf_wire_memory *memory, const void *from, size_t bytes)
{
    struct gf_verbs_queue *queue = &lane->queues[0];

    if (bytes > 0 && (!memory || (const char *)from < memory->address || bytes > memory->bytes ||
                      (size_t)((const char *)from - memory->address) > memory->bytes - bytes)) {
        gf_verbs_queue_break(queue, GF_ERR_INVALID, "%s: %zu bytes to be sent lie outside of the memory registered for them",
                             lane->rail->name, bytes);
    } else if (bytes > lane->base.wire->caps.put_bytes) {
        gf_verbs_queue_break(queue, GF_ERR_INVALID, "%s: %zu bytes are to be sent at once, but %zu is the most",
                             lane->rail->name, bytes, lane->base.wire->caps.put_bytes);
    }
    return queue->status;
}

/* Of either kind; immediate null: no notification. */
struct move {
    const struct gf_wire_memory *memory;
    const char *from;
    const struct gf_wire_place *to;
    size_t bytes;
    const uint32_t *immediate;
};

/* Bytes [begin, begin + bytes) of it, over one queue. */
static gf_status post_part(struct gf_verbs_queue *queue, const struct move *move, size_t begin, size_t bytes,
                           const struct gf_verbs_ticket *ticket)
{
    struct ibv_mr *const *regions = bytes > 0 ? move->memory->handle : NULL;
    struct ibv_sge piece = {
        .addr = (uintptr_t)move->from + begin, .length = (uint32_t)bytes, .lkey = regions ? regions[queue->rail->index]->lkey : 0,
    };
    struct ibv_send_wr send = {
        .sg_list = &piece, .num_sge = bytes > 0, .opcode = move->immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
        .imm_data = move->immediate ? htonl(*move->immediate) : 0,
        .wr.rdma = { .remote_addr = move->to->address + begin, .rkey = move->to->key },
    };

    return gf_verbs_queue_post(queue, &send, ticket);
}

/* How much of a put each queue carries: all, where it is short. The last one may have less. */
static size_t share_of(const struct verbs_lane *lane, size_t bytes)
{
    size_t pairs = (size_t)lane->pairs, share = (bytes + pairs - 1) / pairs;

    return pairs == 1 || bytes < SPREAD_FROM ? bytes : (share + SPREAD_UNIT - 1) / SPREAD_UNIT * SPREAD_UNIT;
}

/* Begins with a send of each queue that is needed, or not at all. Where ends are counted there is a place for each send of the
 * first one, which may still be waiting for another. */
static gf_status put(struct verbs_lane *lane, const struct move *move, const struct gf_wire_ticket *ticket)
{
    size_t share = share_of(lane, move->bytes), begin = share;
    int sends = move->immediate ? lane->pairs : move->bytes > share ? (int)((move->bytes + share - 1) / share) : 1;
    uint32_t *left = &lane->left[lane->queues[0].sent % GF_VERBS_SENDS];
    gf_status status = may_begin(lane, lane->queues, sends, 1);

    status = status == GF_OK && *left > 0 ? GF_NO_RESOURCE : status;
    if (status == GF_OK) {
        status = check_source(lane, move->memory, move->from, move->bytes);
    }
    if (status != GF_OK) {
        return status;
    }
    struct gf_verbs_ticket each = {
        .told = ticket ? *ticket : (struct gf_wire_ticket){ NULL, 0 }, .left = sends > 1 ? left : NULL,
    };

    *left = sends > 1 && each.told.word ? (uint32_t)sends : 0;
    status = post_part(&lane->queues[0], move, 0, share, &each);
    for (int i = 1; i < sends && status == GF_OK; i++, begin += share) {
        size_t rest = move->bytes > begin ? move->bytes - begin : 0;

        status = post_part(&lane->queues[i], move, rest > 0 ? begin : 0, rest < share ? rest : share, &each);
    }
    return status;
}

gf_status gf_verbs_put(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                       const struct gf_wire_place *to, size_t bytes, const struct gf_wire_ticket *ticket)
{
    const struct move move = { memory, from, to, bytes, NULL };
    gf_status status = put(verbs_lane_of(base), &move, ticket);

    verbs_wire_of(base->wire)->counts.puts += status == GF_OK;
    return status;
}

gf_status gf_verbs_put_notify(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *from,
                              const struct gf_wire_place *to, size_t bytes, uint32_t immediate,
                              const struct gf_wire_ticket *ticket)
{
    const struct move move = { memory, from, to, bytes, &immediate };
    gf_status status = put(verbs_lane_of(base), &move, ticket);

    verbs_wire_of(base->wire)->counts.notifies += status == GF_OK;
    return status;
}

gf_status gf_verbs_put_lines(struct gf_wire_lane *base, uint32_t index, const void *lines, uint32_t count)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct gf_verbs_queue *queue = &lane->queues[0];
    size_t bytes = (size_t)count * GF_WIRE_LINE, step = queue->inline_bytes;
    gf_status status = may_begin(lane, queue, 1, (uint32_t)((bytes + step - 1) / step));

    if (status == GF_OK && (index > lane->peer_line_count || count > lane->peer_line_count - index)) {
        gf_verbs_queue_break(queue, GF_ERR_INVALID, "%s: lines %u and %u more are beyond the peer's %u", lane->rail->name,
                             index, count, lane->peer_line_count);
        status = queue->status;
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

        status = gf_verbs_queue_post(queue, &send, NULL);
    }
    verbs_wire_of(base->wire)->counts.line_puts += status == GF_OK;
    return status;
}

/* On each queue: each brings the notification. */
gf_status gf_verbs_expect(struct gf_wire_lane *base)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    gf_status status = gf_verbs_lane_status(lane, NULL);

    if (status == GF_OK && lane->queues[0].expected == lane->queues[0].taken + GF_VERBS_RECEIVES) {
        status = GF_NO_RESOURCE;
    }
    for (int i = 0; i < lane->pairs && status == GF_OK; i++) {
        status = gf_verbs_queue_post_receive(&lane->queues[i]);
    }
    return status;
}

static uint32_t next_immediate(const struct gf_verbs_queue *queue)
{
    return queue->immediates[queue->taken % GF_VERBS_RECEIVES];
}

bool gf_verbs_take(struct gf_wire_lane *base, uint32_t *immediate)
{
    struct verbs_lane *lane = verbs_lane_of(base);

    for (int i = 0; i < lane->pairs; i++) {
        if (lane->queues[i].taken == lane->queues[i].arrived) {
            return false;
        }
    }
    *immediate = next_immediate(&lane->queues[0]);
    for (int i = 1; i < lane->pairs; i++) {
        if (next_immediate(&lane->queues[i]) != *immediate) {
            gf_verbs_queue_break(&lane->queues[i], GF_ERR_PEER, "%s: the peer notified another value over each queue pair",
                                 lane->rail->name);
            return false;
        }
    }
    for (int i = 0; i < lane->pairs; i++) {
        lane->queues[i].taken++;
    }
    return true;
}

gf_status gf_verbs_flush(struct gf_wire_lane *base, const struct gf_wire_memory *memory, const void *at,
                         const struct gf_wire_ticket *ticket)
{
    struct verbs_lane *lane = verbs_lane_of(base);
    struct gf_verbs_rail *rail = lane->rail;
    gf_status status = may_begin(lane, &rail->loopback, 1, 1);

    if (status == GF_OK) {
        status = check_source(lane, memory, at, 1);
    }
    if (status != GF_OK) {
        return status;
    }
    struct ibv_sge piece = { .addr = (uintptr_t)rail->sink, .length = 1, .lkey = rail->sink_memory->lkey };
    struct ibv_send_wr send = {
        .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
        .wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = gf_wire_key(base, memory) },
    };

    const struct gf_verbs_ticket told = { .told = ticket ? *ticket : (struct gf_wire_ticket){ NULL, 0 } };

    pthread_mutex_lock(&rail->lock);
    rail->flushing[rail->loopback.sent % GF_VERBS_SENDS] = lane;
    status = gf_verbs_queue_post(&rail->loopback, &send, &told);
    pthread_mutex_unlock(&rail->lock);
    rail->wire->counts.flushes += status == GF_OK;
    return status;
}

void gf_verbs_flushes_forget(struct gf_verbs_rail *rail, const struct verbs_lane *lane)
{
    pthread_mutex_lock(&rail->lock);
    for (uint32_t place = 0; place < GF_VERBS_SENDS; place++) {
        if (rail->flushing[place] == lane) {
            rail->flushing[place] = NULL;
            rail->loopback.tickets[place].told.word = NULL;
        }
    }
    pthread_mutex_unlock(&rail->lock);
}
