/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire over verbs: InfiniBand, RoCE, and soft-RoCE for tests. Reliable connections. A lane goes by one adapter, lanes in
 * turn by all that are equally near to the device; it is one queue pair, or several for long data.
 *
 *   put, put_notify   an RDMA write; with immediate data, for which the peer has posted a receive of zero length. Of several
 *                     queue pairs each carries a share of long data, and each the immediate, which is taken when all have come
 *   put_lines         an inline RDMA write into host memory; nobody asks for its end, so one write a lap is signalled
 *   flush             an RDMA read of one byte over a queue pair that is connected to itself: it pushes before it what the
 *                     adapter still has on its way into the device's memory
 *
 * Whether memory of a device can be registered only trying tells: by its dma-buf, or by its address, which a peer-memory module
 * of the device's driver resolves. So caps.device_memory is true, and register_memory says the rest.
 *
 * A lane breaks when the adapter gives up on it, which takes at most retries + 1 times the timeout, or when its port has been
 * down for that long; an adapter that fails breaks all of its lanes, and none
 * of another.
 */
#ifndef GF_TRANSPORT_VERBS_H
#define GF_TRANSPORT_VERBS_H

#include "transport/wire.h"

extern const struct gf_wire_ops gf_wire_verbs;

#endif
