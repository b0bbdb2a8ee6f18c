/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MCA variables of the network, and making nets.
 */
#include "mca_coll_gpufifo/net.h"

#include <stddef.h>

#include "mca_coll_gpufifo/module.h"
#include "transport/wires.h"

static const mca_base_var_enum_value_t choices[] = {
    {GF_CHOICE_AUTO, "auto"}, {GF_CHOICE_YES, "yes"}, {GF_CHOICE_NO, "no"}, {0, NULL}};

static const mca_base_var_enum_value_t message_choices[] = {
    {GF_MESSAGES_AUTO, "auto"}, {GF_MESSAGES_NET, "net"}, {GF_MESSAGES_PML, "pml"}, {0, NULL}};

static const mca_base_var_enum_value_t flushes[] = {
    {GF_FLUSH_AUTO, "auto"}, {GF_FLUSH_READ, "read"}, {GF_FLUSH_GDRCOPY, "gdrcopy"}, {GF_FLUSH_NO, "no"}, {0, NULL}};

static const mca_base_var_enum_value_t mtus[] = {
    {0, "auto"}, {256, "256"}, {512, "512"}, {1024, "1024"}, {2048, "2048"}, {4096, "4096"}, {0, NULL}};

/* As gf_wires_named knows them, but for "off". */
static const char *const names[] = {[GF_NET_OFF] = "off", [GF_NET_VERBS] = "verbs", [GF_NET_UCX] = "ucx", [GF_NET_ANY] = "auto"};

/* Whole numbers: the variable, where its value is, its least and greatest one and its default, and what it means. */
static const struct number {
    const char *name;
    size_t offset;                     /* of an int in struct gf_net_params */
    int least, most, usual;
    const char *help;
} numbers[] = {
    {"net_most_adapters", offsetof(struct gf_net_params, most_adapters), 0, GF_WIRE_ADAPTERS, 0,
     "Most adapters that the connections of a device are spread over, 1 to 8; 0: all that are as near to it as the nearest"},
    {"net_queue_pairs", offsetof(struct gf_net_params, queue_pairs), 1, GF_WIRE_PAIRS, 1,
     "Queue pairs of a connection of verbs, over which long data are spread, 1 to 8"},
    {"net_port", offsetof(struct gf_net_params, port), 0, 255, 0, "The port of each adapter; 0: its first one that is up"},
    {"gid_index", offsetof(struct gf_net_params, gid_index), -1, 255, -1,
     "The entry of the port's GID table by which it is addressed; -1: the right one for its network is found"},
    {"net_service_level", offsetof(struct gf_net_params, service_level), 0, 15, 0, "The service level of verbs, 0 to 15"},
    {"net_traffic_class", offsetof(struct gf_net_params, traffic_class), 0, 255, 0,
     "The traffic class of verbs over RoCE, 0 to 255"},
    {"net_timeout", offsetof(struct gf_net_params, timeout), 0, 31, 0,
     "How long verbs waits for an acknowledgement, as 4.096 us times 2 to this power, 1 to 31; 0: 18, about a second"},
    {"net_retries", offsetof(struct gf_net_params, retries), 0, 7, 0,
     "How often verbs sends again what was not acknowledged, 1 to 7; 0: 6"},
    {"net_silence", offsetof(struct gf_net_params, silence), 0, 100000, 30,
     "Seconds in which the host of a peer may acknowledge nothing of what ucx sends it again and again by TCP, before it is "
     "given up; 0: as long as TCP itself does"},
    {"net_group", offsetof(struct gf_net_params, group), 1, GF_NET_GROUP, 1,
     "Channels of a ring that share a connection of the network, 1 to 8"},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int *place_of(const struct number *number, struct gf_net_params *params)
{
    return (int *)((char *)params + number->offset);
}

void gf_net_params_default(struct gf_net_params *params)
{
    *params = (struct gf_net_params){0};
    for (int i = 0; i < NUMBERS; i++) {
        *place_of(&numbers[i], params) = numbers[i].usual;
    }
}

void gf_net_params_register(struct gf_net_params *params)
{
    gf_params_register_variable("net_adapter",
        "Names of the adapters that verbs may use, separated by commas, as mlx5_0,mlx5_1; empty: all. Those used are nearest to "
        "the device",
        MCA_BASE_VAR_TYPE_STRING, NULL, OPAL_INFO_LVL_5, &params->adapters);
    for (int i = 0; i < NUMBERS; i++) {
        gf_params_register_variable(numbers[i].name, numbers[i].help, MCA_BASE_VAR_TYPE_INT, NULL, OPAL_INFO_LVL_6,
                                    place_of(&numbers[i], params));
    }
    gf_params_register_variable("net_mtu",
        "Most bytes of data in a packet of verbs: 256, 512, 1024, 2048, 4096, or auto (what the port has); a connection has the "
        "smaller one of its ends'",
        MCA_BASE_VAR_TYPE_INT, mtus, OPAL_INFO_LVL_6, &params->mtu);
    gf_params_register_variable("net_device_memory",
        "Whether the network reads and writes device memory: auto (where it can), yes, or no (then host memory, to and from "
        "which kernels store and load)",
        MCA_BASE_VAR_TYPE_INT, choices, OPAL_INFO_LVL_6, &params->device_memory);
    gf_params_register_variable("net_flush",
        "By what a device is made to see what has arrived before its kernels are told: read (by the adapter, always), gdrcopy "
        "(by the processor, in device memory), no, or auto (where it is needed, by the adapter if that can)",
        MCA_BASE_VAR_TYPE_INT, flushes, OPAL_INFO_LVL_9, &params->flush);
    gf_params_register_variable("net_messages",
        "How messages between nodes go where coll_gpufifo_net is not off: auto (by the network from "
        "coll_gpufifo_net_message_bytes on, where it reaches device memory), net (by the network, all that are not staged), or "
        "pml (in pieces over MPI)",
        MCA_BASE_VAR_TYPE_INT, message_choices, OPAL_INFO_LVL_5, &params->messages);
    gf_params_register_variable("net_message_bytes",
        "Least message in bytes that goes by the network between nodes; shorter ones go in pieces over MPI, or are staged",
        MCA_BASE_VAR_TYPE_SIZE_T, NULL, OPAL_INFO_LVL_5, &params->message_bytes);
    gf_params_register_variable("net_zero_copy",
        "Whether data go straight from the program's buffers to the peer's, where both can be registered: auto (where the "
        "network reads and writes device memory), yes (try it anywhere), or no (through slots)",
        MCA_BASE_VAR_TYPE_INT, choices, OPAL_INFO_LVL_6, &params->zero_copy);
}

const char *gf_net_name(enum gf_force_net net)
{
    return names[net];
}

bool gf_net_params_can(enum gf_force_net net)
{
    return net == GF_NET_OFF || gf_wires_named(names[net]) != NULL;
}

void gf_net_params_check(struct gf_net_params *params)
{
    for (const struct number *number = numbers; number < numbers + NUMBERS; number++) {
        int *value = place_of(number, params);

        if (*value < number->least || *value > number->most) {
            if (gf_speaks_for_node()) {
                gf_show_help("bad-net-number", number->name, *value, number->least, number->most, number->usual);
            }
            *value = number->usual;
        }
    }
}

struct gf_net *gf_component_new_net(gf_device *device)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    const struct gf_net_params *params = &component->net_params;
    const struct gf_net_config config = {
        .wires = gf_wires_named(names[component->config.net]), .group = params->group,
        .device_memory = (enum gf_choice)params->device_memory, .flush = (enum gf_flush_choice)params->flush,
        .zero_copy = (enum gf_choice)params->zero_copy,
        .wire = {
            .adapters = params->adapters && params->adapters[0] ? params->adapters : NULL,
            .most_adapters = params->most_adapters, .queue_pairs = params->queue_pairs, .port = params->port,
            .gid_index = params->gid_index, .service_level = params->service_level, .traffic_class = params->traffic_class,
            .mtu = params->mtu, .timeout = params->timeout, .retries = params->retries, .silence = params->silence,
            .near = device->caps.pci[0] ? device->caps.pci : NULL, .log = &component->log,
        },
    };
    struct gf_reason why;
    struct gf_net *net = NULL;

    if (gf_net_create(&config, device, &net, &why) != GF_OK) {
        gf_log(&component->log, GF_LOG_WARN, "ranks of several nodes go through MPI alone: %s", why.text);
    }
    return net;
}

struct gf_net *gf_component_net(gf_device *device)
{
    mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    if (component->config.net == GF_NET_OFF) {
        return NULL;
    }
    opal_mutex_lock(&component->lock);
    struct gf_net **net = &component->nets[device->ordinal];

    if (!*net) {
        __atomic_store_n(net, gf_component_new_net(device), __ATOMIC_RELEASE);
    }
    opal_mutex_unlock(&component->lock);
    return *net;
}
