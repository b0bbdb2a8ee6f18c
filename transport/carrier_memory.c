/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the wire knows of memory: the program's, and the carrier's own pieces.
 */
#include "transport/carrier_private.h"
#include "transport/net_register.h"

bool gf_carrier_reaches_device(const struct gf_carrier *carrier, bool receives, struct gf_reason *why)
{
    const struct gf_wire *wire = carrier->wire;

    if (gf_net_config_of(carrier->config.net)->device_memory == GF_CHOICE_NO) {
        gf_reason_set(why, "the setting net_device_memory is no");
    } else if (!wire->caps.device_memory) {
        gf_reason_set(why, "%s does not reach device memory", wire->name);
    } else if (receives && carrier->flush.not_device) {
        gf_reason_set(why, "%s", carrier->flush.why.text);
    } else {
        return true;
    }
    return false;
}

static struct gf_net_buffers *buffers_of(const struct gf_carrier *carrier)
{
    return gf_net_buffers_of(carrier->config.net);
}

/* GF_NO_RESOURCE: they are to be registered by themselves. */
static gf_status find_buffer(struct gf_carrier *carrier, struct gf_carrier_data *data, struct gf_reason *why)
{
    const struct gf_net_range range = { .address = data->address, .bytes = data->bytes };

    if (!data->device) {
        return GF_NO_RESOURCE;
    }
    gf_status status = gf_net_buffers_get(buffers_of(carrier), carrier->config.fault, &range, &data->buffer, why);

    if (status == GF_OK) {
        data->place = data->buffer->wire.address + (data->address - (const char *)data->buffer->base);
    }
    return status;
}

void gf_carrier_register(struct gf_carrier *carrier, bool receives, struct gf_carrier_data *data, struct gf_reason *why)
{
    data->place = NULL;
    data->buffer = NULL;
    if (data->bytes == 0 || (data->device && !gf_carrier_reaches_device(carrier, receives, why))
        || find_buffer(carrier, data, why) != GF_NO_RESOURCE) {
        return;
    }
    if (gf_net_register(carrier->config.net, carrier->config.fault, data->address, data->bytes, data->device, &data->own, why)
        == GF_OK) {
        data->place = data->own.address;
    }
}

const struct gf_wire_memory *gf_carrier_memory_of(const struct gf_carrier_data *data)
{
    return data->buffer ? &data->buffer->wire : &data->own;
}

void gf_carrier_forget(struct gf_carrier *carrier, struct gf_carrier_data *data, bool failed)
{
    if (data->buffer) {
        gf_net_buffers_put(buffers_of(carrier), data->buffer, failed);
    } else if (data->place) {
        gf_net_forget(carrier->config.net, &data->own);
    }
    data->place = NULL;
    data->buffer = NULL;
}

void gf_carrier_tell(bool reached, const struct gf_reason *why, struct gf_reason *how)
{
    if (reached) {
        gf_reason_set(how, "this end's buffer is registered");
    } else {
        gf_reason_set(how, "by way of pinned memory here: %.200s", why->text);
    }
}

static gf_status open_rings(struct gf_carrier *carrier, struct gf_reason *why)
{
    if (carrier->rings) {
        return GF_OK;
    }
    gf_status status = gf_copy_ring_create(carrier->config.device, NULL, &carrier->out, why);

    if (status == GF_OK) {
        status = gf_copy_ring_create(carrier->config.device, NULL, &carrier->in, why);
    }
    carrier->rings = status == GF_OK;
    if (status != GF_OK) {
        gf_copy_ring_destroy(&carrier->out);
    }
    return status;
}

gf_status gf_pieces_open(struct gf_carrier *carrier, struct gf_pieces *pieces, struct gf_reason *why)
{
    if (pieces->registered) {
        return GF_OK;
    }
    size_t each = carrier->config.piece_bytes, bytes = GF_CARRIER_PIECES * each;
    gf_status status = open_rings(carrier, why);

    if (status == GF_OK) {
        status = gf_device_pinned_alloc(carrier->config.device, bytes, &pieces->all, why);
        pieces->all = status == GF_OK ? pieces->all : NULL;
    }
    if (status == GF_OK) {
        status = gf_net_register(carrier->config.net, carrier->config.fault, pieces->all, bytes, false, &pieces->wire, why);
        pieces->registered = status == GF_OK;
    }
    if (status != GF_OK) {
        gf_pieces_close(carrier, pieces);
        return status;
    }
    for (int i = 0; i < GF_CARRIER_PIECES; i++) {
        pieces->piece[i].memory = pieces->wire.address + (size_t)i * each;
        gf_pieces_give(pieces, &pieces->piece[i]);
    }
    return GF_OK;
}

void gf_pieces_close(struct gf_carrier *carrier, struct gf_pieces *pieces)
{
    if (pieces->registered) {
        gf_net_forget(carrier->config.net, &pieces->wire);
    }
    if (pieces->all) {
        gf_device_pinned_free(carrier->config.device, pieces->all);
    }
    *pieces = (struct gf_pieces){ .all = NULL };
}

struct gf_carrier_piece *gf_pieces_take(struct gf_pieces *pieces)
{
    struct gf_carrier_piece *piece = pieces->idle;

    if (piece) {
        pieces->idle = piece->next;
    }
    return piece;
}

void gf_pieces_give(struct gf_pieces *pieces, struct gf_carrier_piece *piece)
{
    if (piece) {
        piece->next = pieces->idle;
        pieces->idle = piece;
    }
}
