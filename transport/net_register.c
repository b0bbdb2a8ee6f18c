/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways by which memory becomes a wire's.
 */
#include "transport/net_register.h"

#include <unistd.h>

static gf_status register_dmabuf(struct gf_net *net, struct gf_fault *fault, struct gf_wire *wire, void *user,
                                 struct gf_wire_range range, struct gf_wire_memory *memory, struct gf_reason *why)
{
    struct gf_dmabuf dmabuf;

    if (gf_fault_hits(fault, GF_FAULT_DMABUF, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_device_dmabuf_export(gf_net_device_of(net), user, range.bytes, &dmabuf, why);

    if (status == GF_OK) {
        range.dmabuf = dmabuf.fd;
        range.dmabuf_offset = dmabuf.offset;
        status = wire->ops->register_memory(wire, &range, memory, why);
        close(dmabuf.fd);
    }
    return status;
}

static gf_status register_device(struct gf_net *net, struct gf_fault *fault, struct gf_wire *wire, void *user, size_t bytes,
                                 struct gf_wire_memory *memory, struct gf_reason *why)
{
    const struct gf_wire_range range = {
        .address = gf_device_kernel_address(gf_net_device_of(net), user), .bytes = bytes, .device = true, .dmabuf = -1,
    };
    struct gf_reason no_dmabuf = { "" }, no_address = { "" };

    if (wire->caps.dmabuf && register_dmabuf(net, fault, wire, user, range, memory, &no_dmabuf) == GF_OK) {
        return GF_OK;
    }
    if (wire->caps.dmabuf) {
        gf_net_say_once(net, GF_NET_NO_DMABUF, "device memory goes by its address, not as a dma-buf: %s", no_dmabuf.text);
    }
    gf_status status = wire->ops->register_memory(wire, &range, memory, &no_address);

    if (status != GF_OK) {
        gf_reason_set(why, "%s%s%s", no_address.text, no_dmabuf.text[0] ? "; as a dma-buf neither: " : "", no_dmabuf.text);
    }
    return status;
}

gf_status gf_net_register(struct gf_net *net, struct gf_fault *fault, void *user, size_t bytes, bool device,
                          struct gf_wire_memory *memory, struct gf_reason *why)
{
    struct gf_wire *wire;
    gf_status status = gf_net_open(net, &wire, why);

    if (status != GF_OK) {
        return status;
    }
    if (gf_fault_hits(fault, GF_FAULT_REGISTER, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    if (device) {
        return register_device(net, fault, wire, user, bytes, memory, why);
    }
    const struct gf_wire_range range = { .address = user, .bytes = bytes, .dmabuf = -1 };

    return wire->ops->register_memory(wire, &range, memory, why);
}

void gf_net_forget(struct gf_net *net, struct gf_wire_memory *memory)
{
    struct gf_reason ignored;
    struct gf_wire *wire;

    if (gf_net_open(net, &wire, &ignored) == GF_OK) {
        wire->ops->forget(wire, memory);
    }
}
