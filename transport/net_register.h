/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registering memory with a wire. Device memory goes by the first of these ways that works: its dma-buf; its address, which the
 * peer-memory module of the device's driver resolves. Why a way did not work is said once a net; what can be done without either
 * is the caller's to know.
 */
#ifndef GF_TRANSPORT_NET_REGISTER_H
#define GF_TRANSPORT_NET_REGISTER_H

#include "core/connector.h"
#include "transport/net.h"

/* `user`: device memory, as the device gave it, or pinned host memory. GF_ERR_UNSUPPORTED: this memory cannot be registered; *why
 * has what each way came to. */
gf_status gf_net_register(struct gf_connector *c, struct gf_wire *wire, void *user, size_t bytes, bool device,
                          struct gf_wire_memory *memory, struct gf_reason *why);

#endif
