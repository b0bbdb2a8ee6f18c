/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Of a process and device: settings, and the wire.
 */
#include "transport/net.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/gdrcopy.h"
#include "transport/net_buffers.h"

struct gf_net {
    struct gf_net_config config;
    gf_device *device;
    pthread_mutex_t lock;              /* guards wire and gdrcopy until they are open, and what was said */
    struct gf_wire *wire;              /* null: not open yet */
    struct gf_gdrcopy *gdrcopy;        /* likewise */
    bool said[GF_NET_SAYINGS];
    struct gf_net_buffers buffers;
};

gf_status gf_net_create(const struct gf_net_config *config, gf_device *device, struct gf_net **made, struct gf_reason *why)
{
    *made = NULL;
    if (config->group < 1 || config->group > GF_NET_GROUP) {
        gf_reason_set(why, "the setting net_group is %d: give it 1 to %d", config->group, GF_NET_GROUP);
        return GF_ERR_INVALID;
    }
    struct gf_net *net = calloc(1, sizeof *net);

    if (!net) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    *net = (struct gf_net){ .config = *config, .device = device };
    pthread_mutex_init(&net->lock, NULL);
    gf_net_buffers_init(&net->buffers, net);
    *made = net;
    return GF_OK;
}

void gf_net_destroy(struct gf_net *net)
{
    if (!net) {
        return;
    }
    gf_net_buffers_close(&net->buffers);
    if (net->wire) {
        net->wire->ops->close(net->wire);
    }
    gf_gdrcopy_close(net->gdrcopy);
    pthread_mutex_destroy(&net->lock);
    free(net);
}

/* Tries them in turn. Of those before the one that opens it says why not; where a setting is wrong, whatever the verbosity. */
static gf_status open_first(struct gf_net *net, struct gf_reason *why)
{
    const struct gf_wire_config *config = &net->config.wire;
    char tried[sizeof why->text] = "";
    enum gf_log_level level = GF_LOG_PATH;
    size_t length = 0;

    for (const struct gf_wire_ops *const *ops = net->config.wires; *ops; ops++) {
        struct gf_reason said = { "" };
        gf_status status = (*ops)->open(config, &net->wire, &said);

        if (status == GF_OK) {
            gf_log(config->log, level, "net: %s%s%s", net->wire->name, length ? ", not " : "", tried);
            return GF_OK;
        }
        level = status == GF_ERR_INVALID ? GF_LOG_WARN : level;
        net->wire = NULL;
        int more = snprintf(tried + length, sizeof tried - length, "%s%s: %s", length ? "; " : "", (*ops)->name, said.text);

        length += more > 0 ? (size_t)more : 0;
        length = length < sizeof tried ? length : sizeof tried - 1;
    }
    gf_reason_set(why, "no network can be used here: %s",
                  length ? tried : "gpufifo was built without libibverbs and without UCX");
    return GF_ERR_UNSUPPORTED;
}

gf_status gf_net_open(struct gf_net *net, struct gf_wire **wire, struct gf_reason *why)
{
    pthread_mutex_lock(&net->lock);
    gf_status status = net->wire ? GF_OK : open_first(net, why);

    *wire = net->wire;
    pthread_mutex_unlock(&net->lock);
    return status;
}

int gf_net_adapters(struct gf_net *net)
{
    struct gf_reason ignored;
    struct gf_wire *wire;

    return gf_net_open(net, &wire, &ignored) == GF_OK ? wire->caps.adapters : 0;
}

gf_status gf_net_gdrcopy(struct gf_net *net, struct gf_gdrcopy **gdrcopy, struct gf_reason *why)
{
    pthread_mutex_lock(&net->lock);
    gf_status status = net->gdrcopy ? GF_OK : gf_gdrcopy_open(&net->gdrcopy, why);

    *gdrcopy = net->gdrcopy;
    pthread_mutex_unlock(&net->lock);
    return status;
}

const struct gf_net_config *gf_net_config_of(const struct gf_net *net)
{
    return &net->config;
}

gf_device *gf_net_device_of(const struct gf_net *net)
{
    return net->device;
}

struct gf_net_buffers *gf_net_buffers_of(struct gf_net *net)
{
    return &net->buffers;
}

void gf_net_say_once(struct gf_net *net, enum gf_net_saying saying, const char *format, ...)
{
    struct gf_reason text;
    va_list arguments;

    pthread_mutex_lock(&net->lock);
    bool said = net->said[saying];

    net->said[saying] = true;
    pthread_mutex_unlock(&net->lock);
    if (said) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text.text, sizeof text.text, format, arguments);
    va_end(arguments);
    gf_log(net->config.wire.log, GF_LOG_PATH, "net: %s", text.text);
}

const char *gf_net_flush_spared(const struct gf_net *net, bool device_slots)
{
    static const char *const ordered[] = {
        [GF_ARRIVALS_UNORDERED] = NULL,
        [GF_ARRIVALS_BY_DRIVER] = "the driver says that the device sees it in order",
        [GF_ARRIVALS_BY_COHERENT_LINK] = "the device is on a coherent link",
        [GF_ARRIVALS_BY_CAPABILITY] = "the device is of compute capability 9.0 or newer",
    };
    enum gf_flush_choice choice = net->config.flush;

    if (choice == GF_FLUSH_NO) {
        return "the setting net_flush is no";
    }
    if (choice == GF_FLUSH_READ) {
        return NULL;
    }
    if (!device_slots) {
        return "kernels load it over the bus by which they are told";
    }
    return choice == GF_FLUSH_GDRCOPY ? NULL : ordered[net->device->caps.arrivals];
}

bool gf_net_needs_flush(const struct gf_net *net, bool device_slots)
{
    return !gf_net_flush_spared(net, device_slots);
}
