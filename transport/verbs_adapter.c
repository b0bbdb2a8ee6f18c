/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choosing an adapter: all are opened and looked at, the best is kept.
 */
#include "transport/verbs_adapter.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/near.h"

/* Less is better. */
struct merit {
    int steps;                     /* from the device */
    int slowness;
};

/* Whether the adapter has the port wanted, active; why not is said in *why. */
static bool find_port(const struct gf_wire_config *config, struct gf_verbs_adapter *adapter, struct gf_reason *why)
{
    const char *name = ibv_get_device_name(adapter->context->device);
    struct ibv_device_attr device;

    if (ibv_query_device(adapter->context, &device) != 0) {
        gf_reason_set(why, "the verbs adapter %s does not answer", name);
        return false;
    }
    if (config->port > device.phys_port_cnt) {
        gf_reason_set(why, "the verbs adapter %s has no port %d, its last is %d", name, config->port, device.phys_port_cnt);
        return false;
    }
    for (int port = config->port ? config->port : 1; port <= (config->port ? config->port : device.phys_port_cnt); port++) {
        if (ibv_query_port(adapter->context, (uint8_t)port, &adapter->attributes) == 0 &&
            adapter->attributes.state == IBV_PORT_ACTIVE) {
            adapter->port = port;
            adapter->roce = adapter->attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
            return true;
        }
        gf_reason_set(why, "port %d of the verbs adapter %s is not active: %s", port, name,
                      ibv_port_state_str(adapter->attributes.state));
    }
    return false;
}

static int lanes_of(uint8_t width)
{
    return width == 16 ? 2 : width == 8 ? 12 : width == 4 ? 8 : width == 2 ? 4 : 1;
}

/* The codes of a lane's speed double as the speed does, but for a few that are close to one another. */
static struct merit merit_of(const struct gf_verbs_adapter *adapter, const struct gf_near *near)
{
    char link[PATH_MAX], path[PATH_MAX];
    const char *address = NULL;

    snprintf(link, sizeof link, "%s/device", adapter->context->device->ibdev_path);
    if (realpath(link, path)) {
        address = strrchr(path, '/') + 1;
    }
    return (struct merit){
        .steps = gf_near_steps(near, address),
        .slowness = -lanes_of(adapter->attributes.active_width) * adapter->attributes.active_speed,
    };
}

static bool is_better(struct merit a, struct merit b)
{
    return a.steps != b.steps ? a.steps < b.steps : a.slowness < b.slowness;
}

/* Opens the best of the list; the reason is of the last that would not do. */
static gf_status open_best(struct ibv_device **list, const struct gf_wire_config *config, const struct gf_near *near,
                           struct gf_verbs_adapter *best, struct gf_reason *why)
{
    struct merit best_merit = { 0, 0 };
    char names[160] = "";

    gf_reason_set(why, "there is no verbs adapter here");
    for (int i = 0; list[i]; i++) {
        const char *name = ibv_get_device_name(list[i]);
        struct gf_verbs_adapter adapter = { 0 };

        if (config->adapter && strcmp(name, config->adapter) != 0) {
            snprintf(names + strlen(names), sizeof names - strlen(names), " %s", name);
            gf_reason_set(why, "there is no verbs adapter %s here, but:%s", config->adapter, names);
            continue;
        }
        adapter.context = ibv_open_device(list[i]);
        if (!adapter.context) {
            gf_reason_set(why, "the verbs adapter %s cannot be opened: %s", name, strerror(errno));
            continue;
        }
        if (find_port(config, &adapter, why)) {
            struct merit merit = merit_of(&adapter, near);

            if (!best->context || is_better(merit, best_merit)) {
                struct gf_verbs_adapter left = *best;

                *best = adapter;
                best_merit = merit;
                adapter = left;
            }
        }
        gf_verbs_adapter_close(&adapter);
        if (config->adapter) {
            break;
        }
    }
    return best->context ? GF_OK : GF_ERR_UNSUPPORTED;
}

/* RoCE v2 before v1, since it is routed; an IPv4 address before others, since networks are set up by those; a link's own last. */
static int gid_demerit(const struct ibv_gid_entry *entry)
{
    static const unsigned char ipv4[12] = { [10] = 0xff, [11] = 0xff };
    const unsigned char *raw = entry->gid.raw;
    bool link_local = raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
    int kind = memcmp(raw, ipv4, sizeof ipv4) == 0 ? 0 : link_local ? 2 : 1;

    return (entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? 0 : 3) + kind;
}

static gf_status find_gid(const struct gf_wire_config *config, struct gf_verbs_adapter *adapter, struct gf_reason *why)
{
    const char *name = ibv_get_device_name(adapter->context->device);
    int wanted = config->gid_index < 0 && !adapter->roce ? 0 : config->gid_index;
    bool found = false;

    for (int i = 0; i < adapter->attributes.gid_tbl_len; i++) {
        struct ibv_gid_entry entry;

        /* Not all places of the table are in use. */
        if ((wanted >= 0 && i != wanted)
            || ibv_query_gid_ex(adapter->context, (uint32_t)adapter->port, (uint32_t)i, &entry, 0) != 0) {
            continue;
        }
        if (!found || gid_demerit(&entry) < gid_demerit(&adapter->gid)) {
            adapter->gid = entry;
            found = true;
        }
    }
    if (found) {
        return GF_OK;
    }
    if (wanted >= 0) {
        gf_reason_set(why, "port %d of the verbs adapter %s has no GID %d", adapter->port, name, wanted);
    } else {
        gf_reason_set(why, "port %d of the verbs adapter %s has no GID: its network interface needs an address", adapter->port,
                      name);
    }
    return GF_ERR_UNSUPPORTED;
}

gf_status gf_verbs_adapter_open(const struct gf_wire_config *config, struct gf_verbs_adapter *adapter, struct gf_reason *why)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct gf_near *near;

    *adapter = (struct gf_verbs_adapter){ 0 };
    if (!list) {
        gf_reason_set(why, "there are no verbs here: %s", strerror(errno));
        return GF_ERR_UNSUPPORTED;
    }
    near = config->near && list[0] && list[1] ? gf_near_open(config->near) : NULL;
    gf_status status = open_best(list, config, near, adapter, why);

    gf_near_close(near);
    ibv_free_device_list(list);
    if (status == GF_OK) {
        status = find_gid(config, adapter, why);
    }
    if (status != GF_OK) {
        gf_verbs_adapter_close(adapter);
    }
    return status;
}

void gf_verbs_adapter_close(struct gf_verbs_adapter *adapter)
{
    if (adapter->context) {
        ibv_close_device(adapter->context);
    }
    *adapter = (struct gf_verbs_adapter){ 0 };
}

void gf_verbs_adapter_describe(const struct gf_verbs_adapter *adapter, char *text, size_t bytes)
{
    const char *name = ibv_get_device_name(adapter->context->device);

    if (adapter->roce) {
        snprintf(text, bytes, "%s port %d gid %u (RoCE %s)", name, adapter->port, adapter->gid.gid_index,
                 adapter->gid.gid_type == IBV_GID_TYPE_ROCE_V2 ? "v2" : "v1");
    } else {
        snprintf(text, bytes, "%s port %d (InfiniBand)", name, adapter->port);
    }
}
