/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lanes of an end of a connection (net_end.h), which it owns.
 */
#ifndef GF_TRANSPORT_NET_LANES_H
#define GF_TRANSPORT_NET_LANES_H

#include "transport/net_end.h"

/* With line_count + GF_NET_NOTICE_LINES lines for each of their channels; group and lane_count are set, and the memory is open.
 * What the peer needs to know of them becomes the rest of the blob. What was made remains for the end's close after an error. */
gf_status gf_net_lanes_open(struct gf_net_end *end, uint32_t line_count, struct gf_blob *mine, struct gf_reason *why);

/* To those of the peer, and says by which adapters they go. */
gf_status gf_net_lanes_connect(struct gf_net_end *end, const struct gf_blob *theirs, struct gf_reason *why);

#endif
