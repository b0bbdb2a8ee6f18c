/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flushes: what makes data that have arrived in slots visible to the device before its kernels are told. The wire's own, which is
 * a read by the adapter, or one by the processor (gdrcopy.h): either pushes before it what is still on its way into the memory.
 */
#ifndef GF_TRANSPORT_NET_FLUSH_H
#define GF_TRANSPORT_NET_FLUSH_H

#include "core/connector.h"
#include "transport/gdrcopy.h"
#include "transport/net.h"

/* Zeroed: nothing is flushed. Owned by the end. */
struct gf_net_flush {
    bool by_wire;
    struct gf_gdrcopy_window window;       /* mapped: by gdrcopy */
};

/* For slots of this end that the wire has registered, in device memory or not, as gf_net_needs_flush and the setting say: the
 * wire's flush where it has one, else gdrcopy. GF_ERR_UNSUPPORTED with a sentence: there is none. */
gf_status gf_net_flush_open(struct gf_connector *c, const struct gf_wire *wire, void *slots, bool device,
                            struct gf_net_flush *flush, struct gf_reason *why);

static inline bool gf_net_flush_is_needed(const struct gf_net_flush *flush)
{
    return flush->by_wire || flush->window.gdrcopy;
}

/* As gf_wire_ops.flush: at: in a slot, as the wire knows it. Only where it is needed. */
gf_status gf_net_flush_begin(const struct gf_net_flush *flush, struct gf_wire_lane *lane, const struct gf_wire_memory *slots,
                             const void *at, const struct gf_wire_ticket *ticket, struct gf_reason *why);

/* Before the slots are freed. Idempotent. */
void gf_net_flush_close(struct gf_net_flush *flush);

#endif
