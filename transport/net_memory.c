/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the slots are. All else of the protocol is the same in either place.
 */
#include "transport/net_memory.h"

#include "transport/copy_engine.h"
#include "transport/net_register.h"

static gf_status register_memory(struct gf_connector *c, size_t bytes, struct gf_net_memory *memory, struct gf_reason *why)
{
    gf_status status = gf_net_register(c->net, c->fault, memory->user, bytes, memory->device, &memory->wire, why);

    memory->registered = status == GF_OK;
    return status;
}

gf_status gf_net_memory_open(struct gf_connector *c, size_t bytes, struct gf_net_memory *memory, struct gf_reason *why)
{
    *memory = (struct gf_net_memory){ .device = false };
    gf_status status = gf_device_pinned_alloc(c->device, bytes, &memory->user, why);

    if (status != GF_OK) {
        memory->user = NULL;
        return status;
    }
    return register_memory(c, bytes, memory, why);
}

static gf_status open_in_device(struct gf_connector *c, struct gf_wire *wire, struct gf_net_memory *memory,
                                struct gf_net_flush *flush, struct gf_reason *why)
{
    *memory = (struct gf_net_memory){ .device = true };
    if (!wire->caps.device_memory) {
        gf_reason_set(why, "%s does not reach device memory", wire->name);
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_slots_alloc(c, &memory->user, why);

    if (status == GF_OK) {
        status = register_memory(c, gf_layout_slots_bytes(&c->shape), memory, why);
    }
    return status == GF_OK ? gf_net_flush_open(c, wire, memory->user, true, flush, why) : status;
}

gf_status gf_net_slots_open(struct gf_connector *c, struct gf_wire *wire, struct gf_net_memory *memory,
                            struct gf_net_flush *flush, struct gf_reason *why)
{
    const struct gf_net_config *config = gf_net_config_of(c->net);
    bool forced = config->device_memory == GF_CHOICE_YES || config->flush == GF_FLUSH_GDRCOPY;

    if (config->device_memory != GF_CHOICE_NO) {
        struct gf_reason in_device = { "" };
        gf_status status = open_in_device(c, wire, memory, flush, &in_device);

        if (status != GF_ERR_UNSUPPORTED || forced) {
            gf_reason_set(why, "%s", in_device.text);
            return status;
        }
        gf_net_say_once(c->net, GF_NET_HOST_SLOTS, "data go through host memory: %s", in_device.text);
        gf_net_memory_close(c, wire, memory);
    }
    gf_status status = gf_net_memory_open(c, gf_layout_slots_bytes(&c->shape), memory, why);

    return status == GF_OK ? gf_net_flush_open(c, wire, memory->user, false, flush, why) : status;
}

void gf_net_memory_close(struct gf_connector *c, struct gf_wire *wire, struct gf_net_memory *memory)
{
    if (memory->registered) {
        wire->ops->forget(wire, &memory->wire);
    }
    if (memory->user && memory->device) {
        gf_device_free(c->device, memory->user);
    } else if (memory->user) {
        gf_device_pinned_free(c->device, memory->user);
    }
    *memory = (struct gf_net_memory){ .device = false };
}
