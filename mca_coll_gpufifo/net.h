/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the component has of the network: its MCA variables, and one net (transport/net.h) a device.
 */
#ifndef GF_MCA_NET_H
#define GF_MCA_NET_H

#include "core/config.h"
#include "device/device.h"
#include "transport/net.h"

/* Whether messages between nodes go by the network: from message_bytes on, all that are not staged, or none. */
enum gf_net_messages { GF_MESSAGES_AUTO, GF_MESSAGES_NET, GF_MESSAGES_PML };

/* The variables as they are registered; their strings are Open MPI's. Written while the component opens, read-only
 * afterwards. */
struct gf_net_params {
    char *adapters;
    int most_adapters, queue_pairs;
    int port, gid_index, service_level, traffic_class, timeout, retries, silence;
    int mtu;                           /* 0: auto */
    int group;
    int device_memory, flush;          /* enum gf_choice, enum gf_flush_choice; ints, for the MCA variables */
    int zero_copy;                     /* enum gf_choice, likewise */
    int messages;                      /* enum gf_net_messages, likewise */
    size_t message_bytes;
};

/* Their defaults, but for message_bytes (tuned_sizes.h). */
void gf_net_params_default(struct gf_net_params *params);

/* Registers them, with the defaults that are there. */
void gf_net_params_register(struct gf_net_params *params);

/* As coll_gpufifo_net has it. */
const char *gf_net_name(enum gf_force_net net);

/* Was gpufifo built for it? */
bool gf_net_params_can(enum gf_force_net net);

/* What is out of its range is replaced by the default, and said so; what a network does not like, it says when it is
 * opened. */
void gf_net_params_check(struct gf_net_params *params);

/* The net of an open device, made on first use where coll_gpufifo_net is not off, destroyed with the component; thread-safe.
 * Null: none; where one was asked for, that has been reported. */
struct gf_net *gf_component_net(gf_device *device);

/* One of the caller's own, which whoever has it destroys. Null: none; that has been reported. */
struct gf_net *gf_component_new_net(gf_device *device);

#endif
