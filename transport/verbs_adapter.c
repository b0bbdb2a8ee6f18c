/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening adapters: all are opened and looked at, the best are kept.
 */
#include "transport/verbs_adapter.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/adapters.h"
#include "transport/near.h"

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
        gf_reason_set(why, "the verbs adapter %s has no port %d, its last is %d: set net_port to one that it has, or to 0", name,
                      config->port, device.phys_port_cnt);
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
static int speed_of(const struct gf_verbs_adapter *adapter)
{
    return lanes_of(adapter->attributes.active_width) * adapter->attributes.active_speed;
}

/* The PCI address, as the last part of path[PATH_MAX]; null: it has none. */
static const char *address_of(const struct ibv_device *device, char *path)
{
    char link[PATH_MAX];

    snprintf(link, sizeof link, "%s/device", device->ibdev_path);
    return realpath(link, path) ? strrchr(path, '/') + 1 : NULL;
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
        gf_reason_set(why, "port %d of the verbs adapter %s has no GID %d: set gid_index to one that it has, or to -1",
                      adapter->port, name, wanted);
    } else {
        gf_reason_set(why, "port %d of the verbs adapter %s has no GID: its network interface needs an address", adapter->port,
                      name);
    }
    return GF_ERR_UNSUPPORTED;
}

int gf_verbs_mtu_bytes(enum ibv_mtu mtu)
{
    return 128 << mtu;
}

/* What the port has, or what is configured, which may be less. */
static gf_status find_mtu(const struct gf_wire_config *config, struct gf_verbs_adapter *adapter, struct gf_reason *why)
{
    adapter->mtu = adapter->attributes.active_mtu;
    if (config->mtu > gf_verbs_mtu_bytes(adapter->mtu)) {
        gf_reason_set(why, "the MTU is to be %d, but port %d of the verbs adapter %s has %d: give the setting net_mtu no more, "
                      "or auto%s", config->mtu, adapter->port, ibv_get_device_name(adapter->context->device),
                      gf_verbs_mtu_bytes(adapter->mtu), adapter->roce ? ", or its network interface a larger MTU" : "");
        return GF_ERR_UNSUPPORTED;
    }
    while (config->mtu != 0 && gf_verbs_mtu_bytes(adapter->mtu) > config->mtu) {
        adapter->mtu--;
    }
    return GF_OK;
}

/* Of a list of adapters those that can be used, opened. */
struct found {
    struct gf_verbs_adapter *adapters;
    struct gf_candidate *candidates;       /* index: of the adapter */
    char (*paths)[PATH_MAX];               /* their addresses lie in */
    int count;
};

/* One more, if its port is active and has the GID and the MTU wanted; why not is said in *why. */
static void look_at(struct ibv_device *device, const struct gf_wire_config *config, const struct gf_near *near,
                    struct found *found, struct gf_reason *why)
{
    const char *name = ibv_get_device_name(device);
    struct gf_verbs_adapter *adapter = &found->adapters[found->count];

    *adapter = (struct gf_verbs_adapter){ .context = ibv_open_device(device) };
    if (!adapter->context) {
        gf_reason_set(why, "the verbs adapter %s cannot be opened: %s", name, strerror(errno));
        return;
    }
    if (!find_port(config, adapter, why) || find_gid(config, adapter, why) != GF_OK || find_mtu(config, adapter, why) != GF_OK) {
        if (config->adapters) {
            gf_log(config->log, GF_LOG_PATH, "net: goes without an adapter that was named: %s", why->text);
        }
        gf_verbs_adapter_close(adapter);
        return;
    }
    const char *address = address_of(device, found->paths[found->count]);

    found->candidates[found->count] = (struct gf_candidate){
        .name = name, .address = address, .steps = gf_near_steps(near, address), .speed = speed_of(adapter),
        .place = config->adapters ? gf_names_find(config->adapters, name) : 0, .ethernet = adapter->roce, .index = found->count,
    };
    found->count++;
}

/* Names that a person has listed and that are not here. */
static gf_status check_names(struct ibv_device **list, int count, const char *wanted, struct gf_reason *why)
{
    const char **names = calloc((size_t)count + 1, sizeof *names);
    char missing[100], here[160] = "";
    bool is_missing = false;

    for (int i = 0; names && i < count; i++) {
        names[i] = ibv_get_device_name(list[i]);
        snprintf(here + strlen(here), sizeof here - strlen(here), " %s", names[i]);
    }
    if (names) {
        is_missing = gf_names_missing(wanted, names, count, missing, sizeof missing);
    }
    free(names);
    if (is_missing) {
        gf_reason_set(why, "there is no verbs adapter %s here, but:%s (setting net_adapter)", missing, here);
    }
    return is_missing ? GF_ERR_INVALID : GF_OK;
}

/* The best of those found become `adapters`; the others are closed. */
static int keep_best(struct found *found, const struct gf_wire_config *config, struct gf_verbs_adapter *adapters)
{
    int most = config->most_adapters ? config->most_adapters : GF_WIRE_ADAPTERS;
    int chosen = gf_adapters_choose(found->candidates, found->count, config->adapters != NULL, most);

    for (int i = 0; i < found->count; i++) {
        struct gf_verbs_adapter *adapter = &found->adapters[found->candidates[i].index];

        if (i < chosen) {
            adapters[i] = *adapter;
        } else {
            gf_verbs_adapter_close(adapter);
        }
    }
    return chosen;
}

static gf_status open_listed(struct ibv_device **list, int listed, const struct gf_wire_config *config,
                             struct gf_verbs_adapter *adapters, int *count, struct gf_reason *why)
{
    size_t room = (size_t)listed + 1;
    struct found found = { .adapters = calloc(room, sizeof *found.adapters), .candidates = calloc(room, sizeof *found.candidates),
                           .paths = calloc(room, sizeof *found.paths) };
    struct gf_near *near = config->near && listed > 1 ? gf_near_open(config->near) : NULL;
    bool made = found.adapters && found.candidates && found.paths;

    gf_reason_set(why, made ? "there is no verbs adapter here" : "out of host memory");
    for (int i = 0; made && i < listed; i++) {
        if (!config->adapters || gf_names_find(config->adapters, ibv_get_device_name(list[i])) >= 0) {
            look_at(list[i], config, near, &found, why);
        }
    }
    *count = made ? keep_best(&found, config, adapters) : 0;
    gf_near_close(near);
    free(found.adapters);
    free(found.candidates);
    free(found.paths);
    return *count > 0 ? GF_OK : made ? GF_ERR_UNSUPPORTED : GF_ERR_NO_MEMORY;
}

gf_status gf_verbs_adapters_open(const struct gf_wire_config *config, struct gf_verbs_adapter *adapters, int *count,
                                 struct gf_reason *why)
{
    int listed = 0;
    struct ibv_device **list = ibv_get_device_list(&listed);

    *count = 0;
    if (!list) {
        gf_reason_set(why, "there are no verbs here: %s", strerror(errno));
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = config->adapters ? check_names(list, listed, config->adapters, why) : GF_OK;

    if (status == GF_OK) {
        status = open_listed(list, listed, config, adapters, count, why);
    }
    ibv_free_device_list(list);
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
