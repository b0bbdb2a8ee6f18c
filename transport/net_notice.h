/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An abort is told to ranks of other nodes over the lanes that lead there: by the first lines of each lane, once, with the
 * sentence.
 */
#ifndef GF_TRANSPORT_NET_NOTICE_H
#define GF_TRANSPORT_NET_NOTICE_H

#include "transport/wire.h"

enum { GF_NET_NOTICE_LINES = 6 };  /* of a lane, from 0 on; what comes behind is others' */

/* As gf_wire_ops.put_lines. */
gf_status gf_net_notice_put(struct gf_wire_lane *lane, gf_status status, const char *text);

/* A line in their place that says nothing, before any notice: what becomes of it tells whether the peer can be reached. Where
 * there is no room something is under way that tells the same. */
void gf_net_notice_put_nothing(struct gf_wire_lane *lane);

/* True: it is there. *status is an error. */
bool gf_net_notice_take(const struct gf_wire_lane *lane, gf_status *status, struct gf_reason *text);

#endif
