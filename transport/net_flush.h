/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes: what makes data that have arrived in slots visible to the device before its kernels are told. The wire's own, which is
 * a read by the adapter, or one by the processor (gdrcopy.h): either pushes before it what is still on its way into the memory.
 * It does so for all memory of the device. So the processor reads a slot, whose window it has, for what has arrived in buffers
 * too; and for messages, memory of the carrier's (carrier_flush.c).
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

/* The way for what arrives in memory of the device, or of the host, as gf_net_needs_flush and the setting say: the wire's flush
 * where it has one, else the processor, for which gf_net_flush_map has yet to find its means. GF_ERR_UNSUPPORTED with a sentence:
 * the wire's is wanted, and it has none. Where nothing is flushed, a line of GF_LOG_PATH says why, once a net. */
gf_status gf_net_flush_choose(struct gf_net *net, const struct gf_wire *wire, bool device, enum gf_net_flush_way *way,
                              struct gf_reason *why);

/* A window onto device memory at this kernel address, as gf_gdrcopy_map's; the sentence says also who needs it. */
gf_status gf_net_flush_map(struct gf_net *net, const struct gf_wire *wire, const void *memory, size_t bytes,
                           struct gf_gdrcopy_window *window, struct gf_reason *why);

/* For slots of this end that the wire has registered, in device memory or not, as gf_net_needs_flush and the setting say: the
 * wire's flush where it has one, else gdrcopy. GF_ERR_UNSUPPORTED with a sentence: there is none for slots. */
gf_status gf_net_flush_open(struct gf_connector *c, const struct gf_wire *wire, void *slots, bool device,
                            struct gf_net_flush *flush, struct gf_reason *why);

/* As gf_wire_ops.flush, this way, not none. at: as the wire knows it, in `memory`. seen: for the processor, the device's address
 * of a word in the window. A read by the processor has ended on return; GF_ERR_DEVICE with a sentence: it failed. */
gf_status gf_net_flush_begin(const struct gf_gdrcopy_window *window, enum gf_net_flush_way way, struct gf_wire_lane *lane,
                             const struct gf_wire_memory *memory, const void *at, const void *seen,
                             const struct gf_wire_ticket *ticket, struct gf_reason *why);

/* Before the slots are freed. Idempotent. */
void gf_net_flush_close(struct gf_net_flush *flush);

#endif
