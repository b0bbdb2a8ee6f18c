/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a connector: legal steps only, and no memory kept after a failure.
 */
#include "core/connector.h"

#include <assert.h>
#include <string.h>

#include "core/layout.h"

bool gf_connector_may_move(enum gf_connector_state from, enum gf_connector_state to)
{
    switch (to) {
    case GF_CONN_NEW:
        return false;
    case GF_CONN_SETTING_UP:
        return from == GF_CONN_NEW;
    case GF_CONN_CONNECTING:
        return from == GF_CONN_SETTING_UP;
    case GF_CONN_READY:
        return from == GF_CONN_CONNECTING;
    case GF_CONN_DRAINING:
        return from == GF_CONN_READY;
    case GF_CONN_DEAD:
        return from != GF_CONN_DEAD && from != GF_CONN_READY;
    }
    return false;
}

void gf_connector_move(struct gf_connector *c, enum gf_connector_state to)
{
    assert(gf_connector_may_move(c->state, to) && "illegal step in a connector's life");
    c->state = to;
}

const char *gf_connector_state_name(enum gf_connector_state state)
{
    static const char *const names[] = { "new", "setting up", "connecting", "ready", "draining", "dead" };

    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

void gf_connector_init(struct gf_connector *c, bool is_sender, int me, int peer, const struct gf_connector_shape *shape,
                       gf_device *device, gf_stream *stream, struct gf_fault *fault)
{
    assert(shape->ll_bytes % GF_LINE == 0 && shape->slot_bytes % GF_LINE == 0 && shape->channels >= 0);
    *c = (struct gf_connector){
        .state = GF_CONN_NEW, .is_sender = is_sender, .me = me, .peer = peer, .shape = *shape,
        .device = device, .stream = stream, .fault = fault,
    };
}

gf_status gf_connector_setup(struct gf_connector *c, const struct gf_transport *transport, struct gf_blob *mine,
                             struct gf_reason *why)
{
    gf_connector_move(c, GF_CONN_SETTING_UP);
    c->transport = transport;
    memset(mine, 0, sizeof *mine);
    gf_status status = transport->setup(c, mine, why);

    if (status != GF_OK) {
        gf_connector_destroy(c);
        return status;
    }
    gf_connector_move(c, GF_CONN_CONNECTING);
    return GF_OK;
}

gf_status gf_connector_connect(struct gf_connector *c, const struct gf_blob *theirs, struct gf_reason *why)
{
    gf_status status = c->transport->connect(c, theirs, why);

    if (status != GF_OK) {
        gf_connector_destroy(c);
        return status;
    }
    gf_connector_move(c, GF_CONN_READY);
    return GF_OK;
}

void gf_connector_expect(struct gf_connector *c, const uint64_t *steps)
{
    if (c->transport->expect) {
        c->transport->expect(c, steps);
    }
}

void gf_connector_ask(struct gf_connector *c)
{
    if (c->transport->ask) {
        c->transport->ask(c);
    }
}

bool gf_connector_lend(struct gf_connector *c, const struct gf_loan *loan)
{
    return c->transport->lend && c->transport->lend(c, loan);
}

void gf_connector_reclaim(struct gf_connector *c, bool failed)
{
    if (c->transport->reclaim) {
        c->transport->reclaim(c, failed);
    }
}

void gf_connector_destroy(struct gf_connector *c)
{
    if (c->state == GF_CONN_DEAD) {
        return;
    }
    if (c->state == GF_CONN_READY) {
        gf_connector_move(c, GF_CONN_DRAINING);
    }
    if (c->transport) {
        c->transport->destroy(c);
    }
    memset(&c->endpoint, 0, sizeof c->endpoint);
    gf_connector_move(c, GF_CONN_DEAD);
}

static size_t end_bytes(const struct gf_connector *c, bool sender)
{
    return sender ? gf_layout_sender(&c->shape).bytes : gf_layout_receiver(&c->shape).bytes;
}

size_t gf_connector_own_bytes(const struct gf_connector *c)
{
    return end_bytes(c, c->is_sender);
}

size_t gf_connector_peer_bytes(const struct gf_connector *c)
{
    return end_bytes(c, !c->is_sender);
}

void gf_connector_describe(const struct gf_connector *c, size_t bytes, struct gf_wire_shape *shape)
{
    *shape = (struct gf_wire_shape){
        .magic = GF_WIRE_MAGIC, .is_sender = c->is_sender, .sender_buffer = c->shape.sender_buffer, .ll_bytes = c->shape.ll_bytes,
        .slot_bytes = c->shape.slot_bytes, .channels = (uint64_t)c->shape.channels, .bytes = bytes,
    };
}

gf_status gf_connector_check(const struct gf_connector *c, const struct gf_wire_shape *theirs, struct gf_reason *why)
{
    if (theirs->magic != GF_WIRE_MAGIC) {
        gf_reason_set(why, "rank %d described its end of a connection in an unknown form: use one version of gpufifo on all "
                      "ranks", c->peer);
        return GF_ERR_PEER;
    }
    if (theirs->is_sender == (uint32_t)c->is_sender || theirs->ll_bytes != c->shape.ll_bytes
        || theirs->slot_bytes != c->shape.slot_bytes || theirs->channels != (uint64_t)c->shape.channels
        || theirs->sender_buffer != c->shape.sender_buffer || theirs->bytes != gf_connector_peer_bytes(c)) {
        gf_reason_set(why,
                      "rank %d described a connection of another shape (%llu channels of %llu-byte slots at the %s, LL slots "
                      "of %llu bytes): use one version of gpufifo and the same settings on all ranks", c->peer,
                      (unsigned long long)theirs->channels, (unsigned long long)theirs->slot_bytes,
                      theirs->sender_buffer ? "sender" : "receiver", (unsigned long long)theirs->ll_bytes);
        return GF_ERR_PEER;
    }
    return GF_OK;
}

void gf_connector_fill_endpoint(struct gf_connector *c, char *receiver_memory, char *sender_memory)
{
    struct gf_layout receiver = gf_layout_receiver(&c->shape), sender = gf_layout_sender(&c->shape);

    c->endpoint.ll_slots = c->shape.ll_bytes ? receiver_memory : NULL;
    if (c->shape.channels) {
        c->endpoint.slots = c->shape.sender_buffer ? sender_memory + sender.slots : receiver_memory + receiver.slots;
        c->endpoint.tails = receiver_memory + receiver.words;
        c->endpoint.heads = sender_memory + sender.words;
    }
}
