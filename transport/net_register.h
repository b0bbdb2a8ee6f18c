/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registering memory with a net's wire. Device memory goes by the first of these ways that works: its dma-buf; its address, which
 * the peer-memory module of the device's driver resolves. Why a way did not work is said once a net; what can be done without
 * either is the caller's to know.
 */
#ifndef GF_TRANSPORT_NET_REGISTER_H
#define GF_TRANSPORT_NET_REGISTER_H

#include "core/fault.h"
#include "transport/net.h"

/* `user`: device memory, as the device gave it, or host memory. fault: may be null. GF_ERR_UNSUPPORTED: this memory cannot be
 * registered; *why has what each way came to. Any thread. */
gf_status gf_net_register(struct gf_net *net, struct gf_fault *fault, void *user, size_t bytes, bool device,
                          struct gf_wire_memory *memory, struct gf_reason *why);

/* What was registered. */
void gf_net_forget(struct gf_net *net, struct gf_wire_memory *memory);

#endif
