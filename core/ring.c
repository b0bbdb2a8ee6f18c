/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the ring allreduce.
 */
#include "core/ring.h"

#include <stdlib.h>

#include "core/layout.h"
#include "core/mapped_allreduce.h"

static struct gf_connector *to_next(const struct gf_ring *ring)
{
    return &ring->pattern.send[ring->next].connector;
}

static struct gf_connector *from_previous(const struct gf_ring *ring)
{
    return &ring->pattern.recv[ring->previous].connector;
}

/* The connections as the kernels read and advance them. */
static gf_status write_conns(struct gf_ring *ring, const struct gf_connect_setup *setup, struct gf_reason *why)
{
    const struct gf_connector *send = to_next(ring), *recv = from_previous(ring);
    size_t bytes = 2 * (size_t)ring->channels * sizeof(struct gf_conn);
    struct gf_conn *conns = malloc(bytes);

    if (!conns) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    for (int c = 0; c < ring->channels; c++) {
        conns[c] = gf_layout_conn(&send->endpoint, &send->shape, c);
        conns[ring->channels + c] = gf_layout_conn(&recv->endpoint, &recv->shape, c);
    }
    gf_status status = gf_device_alloc(setup->device, bytes, &ring->conns, why);

    if (status == GF_OK) {
        status = gf_device_copy(setup->device, setup->stream, ring->conns, conns, bytes);
        if (status == GF_OK) {
            status = gf_device_stream_sync(setup->device, setup->stream);
        }
        if (status != GF_OK) {
            gf_reason_set(why, "the connections could not be copied to the device: %s", gf_status_string(status));
        }
    } else {
        ring->conns = NULL;
    }
    free(conns);
    return status;
}

gf_status gf_ring_connect(struct gf_ring *ring, int channels, const struct gf_connect_setup *setup, struct gf_reason *why)
{
    struct gf_connector_shape shape = {
        .channels = channels, .slot_bytes = setup->config->simple_slot_bytes,
        .sender_buffer = gf_buffer_at_sender(setup->config->simple_buffer),
    };

    const struct gf_peers *peers = setup->peers;
    int place = peers->place[peers->rank];

    *ring = (struct gf_ring){
        .device = setup->device, .channels = channels, .place = place, .next = gf_peers_next(peers, peers->rank),
        .previous = peers->ring[(place + peers->ranks - 1) % peers->ranks],
    };
    gf_status status = gf_pattern_connect(&ring->pattern, GF_PATTERN_RING, &shape, setup, why);

    if (status != GF_OK) {
        return status;
    }
    status = gf_bootstrap_agree(setup->bootstrap, write_conns(ring, setup, why), why);
    if (status != GF_OK) {
        gf_ring_destroy(ring);
    }
    return status;
}

/* As gf_even_share (kernels/simple.h). */
static uint64_t even_share(uint64_t bytes, uint64_t parts)
{
    uint64_t share = (bytes + parts - 1) / parts;

    return (share + GF_LINE - 1) / GF_LINE * GF_LINE;
}

static struct gf_ring_shape shape_of(const struct gf_ring *ring, const struct gf_plan *plan, const struct gf_reduction *data)
{
    struct gf_ring_shape shape = {
        .place = (uint64_t)ring->place, .ranks = (uint64_t)ring->pattern.ranks, .channels = (uint64_t)plan->blocks,
        .total = data->count * gf_type_size((enum gf_type)data->type), .most = to_next(ring)->shape.slot_bytes,
    };

    shape.share = even_share(shape.total, shape.ranks);
    shape.part = even_share(shape.share, shape.channels);
    return shape;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bytes of a channel's part: the last parts have less, or nothing. */
static uint64_t part_bytes(const struct gf_ring_shape *shape, uint64_t channel)
{
    uint64_t begin = lesser(shape->part * channel, shape->share);

    return channel < shape->channels ? lesser(shape->share - begin, shape->part) : 0;
}

struct gf_span gf_ring_span(const struct gf_ring_shape *shape, int channel, uint64_t k)
{
    uint64_t steps = 2 * shape->ranks - 2, first = k / steps * shape->most;
    uint64_t piece = (shape->place + 2 * shape->ranks - 1 - k % steps) % shape->ranks;
    uint64_t length = lesser(part_bytes(shape, (uint64_t)channel) - first, shape->most);
    uint64_t at = lesser(piece * shape->share + shape->part * (uint64_t)channel + first, shape->total);

    return (struct gf_span){ .at = at, .bytes = (uint32_t)lesser(shape->total - at, length) };
}

/* What goes from the receive buffer: the second half of the steps. */
static struct gf_span sent_span(const void *ctx, int channel, uint64_t step)
{
    const struct gf_ring_shape *shape = ctx;
    bool final = step % (2 * shape->ranks - 2) >= shape->ranks - 1;

    return final ? gf_ring_span(shape, channel, step) : (struct gf_span){ .bytes = 0 };
}

/* What comes there: the same, as the place before numbers it. */
static struct gf_span received_span(const void *ctx, int channel, uint64_t step)
{
    struct gf_ring_shape before = *(const struct gf_ring_shape *)ctx;

    before.place = (before.place + before.ranks - 1) % before.ranks;
    return sent_span(&before, channel, step);
}

/* To both ends. Returns which of them take it. */
static uint32_t lend(struct gf_ring *ring, const struct gf_ring_call *call)
{
    struct gf_loan loan = {
        .buffer = call->recv, .where = call->recv_where, .kernel_address = call->data.recv, .bytes = ring->shape.total,
        .span = sent_span, .ctx = &ring->shape,
    };
    uint32_t lends = gf_connector_lend(to_next(ring), &loan) ? GF_RING_SEND_LENT : 0;

    loan.span = received_span;
    return lends | (gf_connector_lend(from_previous(ring), &loan) ? GF_RING_RECV_LENT : 0);
}

static void reclaim(struct gf_ring *ring, bool failed)
{
    gf_connector_reclaim(to_next(ring), failed);
    gf_connector_reclaim(from_previous(ring), failed);
}

/* Both ends are told, as far as the host has a part in them: of slotfuls in which each piece goes round twice but for two
 * hops. */
static void expect_steps(struct gf_ring *ring)
{
    const struct gf_ring_shape *shape = &ring->shape;
    uint64_t steps[GF_MAX_CHANNELS];

    for (int c = 0; c < ring->channels; c++) {
        steps[c] = (part_bytes(shape, (uint64_t)c) + shape->most - 1) / shape->most * (2 * shape->ranks - 2);
    }
    gf_connector_expect(to_next(ring), steps);
    gf_connector_expect(from_previous(ring), steps);
}

/* Straight to a neighbour's buffers: hosts move nothing, so nothing is lent. */
static gf_status run_direct(struct gf_ring *ring, const struct gf_plan *plan, const struct gf_ring_work *slots,
                            const struct gf_mapped *mapped, struct gf_execution *e, struct gf_reason *why)
{
    bool reads = to_next(ring)->shape.sender_buffer;
    struct gf_ring_direct_work work = { .ring = *slots, .reads = reads };

    gf_mapped_fill_ring(mapped, reads ? ring->previous : ring->next, &work);
    return gf_execution_run(e, GF_KERNEL_ALLREDUCE_RING_DIRECT, plan->blocks, plan->threads, &work.ring.task, sizeof work, why);
}

gf_status gf_ring_allreduce(struct gf_ring *ring, const struct gf_plan *plan, const struct gf_ring_call *call,
                            struct gf_execution *e, struct gf_reason *why)
{
    struct gf_conn *conns = gf_device_kernel_address(e->device, ring->conns);
    struct gf_ring_work work = {
        .data = call->data, .send = conns, .recv = conns + ring->channels, .channels = (uint32_t)plan->blocks,
        .place = (uint32_t)ring->place,
    };

    ring->shape = shape_of(ring, plan, &call->data);
    if (call->mapped) {
        return run_direct(ring, plan, &work, call->mapped, e, why);
    }
    work.lends = lend(ring, call);
    expect_steps(ring);
    enum gf_kernel kernel = work.lends ? GF_KERNEL_ALLREDUCE_RING_LENT : GF_KERNEL_ALLREDUCE_RING;
    gf_status status = gf_execution_run(e, kernel, plan->blocks, plan->threads, &work.task, sizeof work, why);

    if (status == GF_OK) {
        reclaim(ring, false);
    }
    return status;
}

void gf_ring_give_up(struct gf_ring *ring)
{
    if (ring->conns) {
        reclaim(ring, true);
    }
}

/* Are all heads where our steps are? A failure to read them ends the wait: then there is nothing to learn. */
static bool is_drained(const struct gf_ring *ring, struct gf_execution *e, struct gf_conn *conns, char *heads)
{
    size_t head_bytes = gf_layout_words_bytes(&to_next(ring)->shape);

    if (gf_execution_copy(e, conns, ring->conns, (size_t)ring->channels * sizeof *conns, NULL) != GF_OK
        || gf_execution_copy(e, heads, to_next(ring)->endpoint.memory, head_bytes, NULL) != GF_OK) {
        return true;
    }
    for (int c = 0; c < ring->channels; c++) {
        if (*(const uint64_t *)(const void *)(heads + (size_t)c * GF_LINE) != conns[c].step) {
            return false;
        }
    }
    return true;
}

void gf_ring_drain(struct gf_ring *ring, struct gf_execution *e)
{
    if (!ring->conns) {
        return;
    }
    struct gf_conn *conns = malloc((size_t)ring->channels * sizeof *conns);
    char *heads = malloc(gf_layout_words_bytes(&to_next(ring)->shape));

    while (conns && heads && gf_watch_poll(e->watch, NULL) == GF_OK && !is_drained(ring, e, conns, heads)) {
    }
    free(conns);
    free(heads);
}

void gf_ring_ask(const struct gf_ring *ring)
{
    if (ring->conns) {
        gf_connector_ask(to_next(ring));
        gf_connector_ask(from_previous(ring));
    }
}

void gf_ring_destroy(struct gf_ring *ring)
{
    if (ring->conns) {
        gf_device_free(ring->device, ring->conns);
        ring->conns = NULL;
    }
    gf_pattern_destroy(&ring->pattern);
}
