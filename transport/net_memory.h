/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a connection's end that the wire knows, too: of the device, or pinned host memory.
 */
#ifndef GF_TRANSPORT_NET_MEMORY_H
#define GF_TRANSPORT_NET_MEMORY_H

#include "core/connector.h"
#include "transport/net_flush.h"

/* Zeroed: none. Owned by the end. */
struct gf_net_memory {
    void *user;                    /* as the device gave it */
    bool device;
    bool registered;
    struct gf_wire_memory wire;
};

/* Pinned host memory, zeroed. What was made remains for close after an error. */
gf_status gf_net_memory_open(struct gf_connector *c, size_t bytes, struct gf_net_memory *memory, struct gf_reason *why);

/* Slots, and what flushes them: in device memory where that is wanted and possible, else in host memory. */
gf_status gf_net_slots_open(struct gf_connector *c, struct gf_wire *wire, struct gf_net_memory *memory,
                            struct gf_net_flush *flush, struct gf_reason *why);

/* Idempotent. */
void gf_net_memory_close(struct gf_connector *c, struct gf_wire *wire, struct gf_net_memory *memory);

#endif
