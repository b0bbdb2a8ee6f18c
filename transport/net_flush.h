/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes: what makes data that have arrived in slots visible to the device before its kernels are told. The wire's own, which is
 * a read by the adapter, or one by the processor (gdrcopy.h): either pushes before it what is still on its way into the memory.
 * It does so for all memory of the device. So the processor reads a slot, whose window it has, for what has arrived in buffers
 * too.
 */
#ifndef GF_TRANSPORT_NET_FLUSH_H
#define GF_TRANSPORT_NET_FLUSH_H

#include "core/connector.h"
#include "transport/gdrcopy.h"
#include "transport/net.h"

enum gf_net_flush_way { GF_NET_FLUSH_NONE, GF_NET_FLUSH_WIRE, GF_NET_FLUSH_PROCESSOR };

/* Zeroed: nothing is flushed. Owned by the end. */
struct gf_net_flush {
    enum gf_net_flush_way slots, buffers;      /* for what arrives in slots, and in buffers of the program (net_loan.h) */
    bool no_buffers;                           /* these would need one that is not to be had */
    struct gf_gdrcopy_window window;           /* of the slots; mapped: for the processor */
};

/* For slots of this end that the wire has registered, in device memory or not, as gf_net_needs_flush and the setting say: the
 * wire's flush where it has one, else gdrcopy. GF_ERR_UNSUPPORTED with a sentence: there is none for slots. */
gf_status gf_net_flush_open(struct gf_connector *c, const struct gf_wire *wire, void *slots, bool device,
                            struct gf_net_flush *flush, struct gf_reason *why);

/* As gf_wire_ops.flush, this way, not none. at: as the wire knows it, in `memory`. slot: any, likewise. */
gf_status gf_net_flush_begin(const struct gf_net_flush *flush, enum gf_net_flush_way way, struct gf_wire_lane *lane,
                             const struct gf_wire_memory *memory, const void *at, const void *slot,
                             const struct gf_wire_ticket *ticket, struct gf_reason *why);

/* Before the slots are freed. Idempotent. */
void gf_net_flush_close(struct gf_net_flush *flush);

#endif
