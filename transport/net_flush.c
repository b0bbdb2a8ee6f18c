/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two ways to flush.
 */
#include "transport/net_flush.h"

#include "core/layout.h"

gf_status gf_net_flush_choose(struct gf_net *net, const struct gf_wire *wire, bool device, enum gf_net_flush_way *way,
                              struct gf_reason *why)
{
    enum gf_flush_choice choice = gf_net_config_of(net)->flush;
    const char *spared = gf_net_flush_spared(net, device);

    *way = GF_NET_FLUSH_NONE;
    if (spared) {
        gf_net_say_once(net, device ? GF_NET_NO_FLUSH_OF_DEVICE : GF_NET_NO_FLUSH_OF_HOST,
                        "what arrives in %s memory is not flushed: %s", device ? "device" : "host", spared);
        return GF_OK;
    }
    if (choice != GF_FLUSH_GDRCOPY && wire->caps.flush) {
        *way = GF_NET_FLUSH_WIRE;
        return GF_OK;
    }
    if (choice == GF_FLUSH_READ) {
        gf_reason_set(why, "%s has no flush: leave the setting net_flush at auto, gdrcopy or no", wire->name);
        return GF_ERR_UNSUPPORTED;
    }
    *way = GF_NET_FLUSH_PROCESSOR;
    return GF_OK;
}

gf_status gf_net_flush_map(struct gf_net *net, const struct gf_wire *wire, const void *memory, size_t bytes,
                           struct gf_gdrcopy_window *window, struct gf_reason *why)
{
    struct gf_reason said = { "" };
    struct gf_gdrcopy *gdrcopy;
    gf_status status = gf_net_gdrcopy(net, &gdrcopy, &said);

    if (status == GF_OK) {
        status = gf_gdrcopy_map(gdrcopy, memory, bytes, window, &said);
    }
    if (status != GF_OK && gf_net_config_of(net)->flush == GF_FLUSH_GDRCOPY) {
        gf_reason_set(why, "the setting net_flush is gdrcopy, but %s", said.text);
    } else if (status != GF_OK) {
        gf_reason_set(why, "%s has no flush, which device memory needs, and %s", wire->name, said.text);
    }
    return status;
}

static gf_status open_slots(struct gf_connector *c, const struct gf_wire *wire, void *slots, bool device,
                            struct gf_net_flush *flush, struct gf_reason *why)
{
    gf_status status = gf_net_flush_choose(c->net, wire, device, &flush->slots, why);

    if (status != GF_OK || flush->slots != GF_NET_FLUSH_PROCESSOR) {
        return status;
    }
    return gf_net_flush_map(c->net, wire, gf_device_kernel_address(c->device, slots), gf_layout_slots_bytes(&c->shape),
                            &flush->window, why);
}

/* Buffers are device memory wherever the slots are. */
static void choose_for_buffers(const struct gf_connector *c, const struct gf_wire *wire, struct gf_net_flush *flush)
{
    if (!gf_net_needs_flush(c->net, true)) {
        return;
    }
    if (flush->slots == GF_NET_FLUSH_PROCESSOR) {
        flush->buffers = GF_NET_FLUSH_PROCESSOR;
    } else if (wire->caps.flush && gf_net_config_of(c->net)->flush != GF_FLUSH_GDRCOPY) {
        flush->buffers = GF_NET_FLUSH_WIRE;
    } else {
        flush->no_buffers = true;
    }
}

gf_status gf_net_flush_open(struct gf_connector *c, const struct gf_wire *wire, void *slots, bool device,
                            struct gf_net_flush *flush, struct gf_reason *why)
{
    *flush = (struct gf_net_flush){ .slots = GF_NET_FLUSH_NONE };
    if (c->is_sender) {
        return GF_OK;
    }
    gf_status status = open_slots(c, wire, slots, device, flush, why);

    choose_for_buffers(c, wire, flush);
    return status;
}

gf_status gf_net_flush_begin(const struct gf_gdrcopy_window *window, enum gf_net_flush_way way, struct gf_wire_lane *lane,
                             const struct gf_wire_memory *memory, const void *at, const void *seen,
                             const struct gf_wire_ticket *ticket, struct gf_reason *why)
{
    if (way == GF_NET_FLUSH_WIRE) {
        return lane->wire->ops->flush(lane, memory, at, ticket);
    }
    gf_status status = gf_gdrcopy_read(window, seen, why);

    if (status == GF_OK) {
        *ticket->word = ticket->value;
    }
    return status;
}

void gf_net_flush_close(struct gf_net_flush *flush)
{
    gf_gdrcopy_unmap(&flush->window);
    *flush = (struct gf_net_flush){ .slots = GF_NET_FLUSH_NONE };
}
