/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes of messages. Data arrive in buffers of the program, which come and go, while a window takes long to map. So what the
 * processor reads is a page of the carrier's: a read of any memory of the device pushes all that is on its way there.
 */
#include "transport/carrier_private.h"

/* Memory that has one whole page, wherever it begins: none of the page is anybody else's. */
static gf_status open_window(struct gf_carrier *carrier, struct gf_reason *why)
{
    struct gf_carrier_flush *flush = &carrier->flush;
    gf_device *device = carrier->config.device;
    gf_status status = gf_device_alloc(device, 2 * GF_GDRCOPY_PAGE, &flush->memory, why);

    if (status != GF_OK) {
        flush->memory = NULL;
        return status;
    }
    char *memory = gf_device_kernel_address(device, flush->memory);
    size_t beyond = (uintptr_t)memory % GF_GDRCOPY_PAGE;

    return gf_net_flush_map(carrier->config.net, carrier->wire, memory + (beyond > 0 ? GF_GDRCOPY_PAGE - beyond : 0),
                            GF_GDRCOPY_PAGE, &flush->window, why);
}

gf_status gf_carrier_flush_open(struct gf_carrier *carrier, struct gf_reason *why)
{
    struct gf_net *net = carrier->config.net;
    struct gf_carrier_flush *flush = &carrier->flush;
    gf_status status = gf_net_flush_choose(net, carrier->wire, false, &flush->host, why);

    if (status != GF_OK || !gf_carrier_reaches_device(carrier, false, NULL)) {
        return status;
    }
    status = gf_net_flush_choose(net, carrier->wire, true, &flush->device, why);
    if (status != GF_OK || flush->device != GF_NET_FLUSH_PROCESSOR) {
        return status;
    }
    status = open_window(carrier, &flush->why);
    flush->not_device = status == GF_ERR_UNSUPPORTED && gf_net_config_of(net)->flush != GF_FLUSH_GDRCOPY;
    if (flush->not_device) {
        gf_carrier_flush_close(carrier);
        return GF_OK;
    }
    if (status != GF_OK) {
        gf_reason_set(why, "%s", flush->why.text);
    }
    return status;
}

void gf_carrier_flush_close(struct gf_carrier *carrier)
{
    struct gf_carrier_flush *flush = &carrier->flush;

    gf_gdrcopy_unmap(&flush->window);
    if (flush->memory) {
        (void)gf_device_free(carrier->config.device, flush->memory);
        flush->memory = NULL;
    }
}

gf_status gf_carrier_flush_begin(struct gf_carrier_lane *lane, bool device, const struct gf_wire_memory *memory,
                                 const char *place, uint64_t *word, struct gf_reason *why)
{
    const struct gf_carrier_flush *flush = &lane->carrier->flush;
    enum gf_net_flush_way way = device ? flush->device : flush->host;
    const struct gf_wire_ticket ticket = { word, 1 };

    if (way == GF_NET_FLUSH_NONE) {
        *word = 1;
        return GF_OK;
    }
    return gf_net_flush_begin(&flush->window, way, lane->wire, memory, place, (const void *)flush->window.first, &ticket, why);
}
