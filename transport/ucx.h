/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The UCX wire: every network that UCX knows (TCP, EFA, Slingshot, …), by active messages of a worker of our own. Which
 * interfaces it takes stays UCX's choice: UCX_NET_DEVICES and UCX_TLS narrow it. It lives beside Open MPI's own use of UCX.
 *
 *   - A process that lanes lead to is one endpoint, however many lanes there are. It stays open until the wire is closed, or it
 *     fails; then all lanes to that process are broken, and no others.
 *   - A put is an active message whose data the receiver stores where they belong, by memcpy from the message if it is short,
 *   else
 *     by rendezvous, which UCX does without a copy where the network can. Not ucp_put_nbx: where UCX has to emulate it (TCP), a
 *     process that was put to is ended by UCX if its peer dies before the acknowledgement, and nobody checks where data go.
 *   - The ticket of a put or notification comes when it has arrived, in order: then nobody has to make progress for it any more.
 *     The receiver says so by its next message, or in its next turn; progress answers true until it has.
 *   - What a peer may not do, the receiver refuses, and both ends of the lane break. So a wrong key is not noticed at once.
 *   - Destroying a lane whose data are still on their way waits for them, for a second at most; then they are lost, and where UCX
 *     does not let go of them the endpoint is given up.
 *   - Over TCP a peer's host whose kernel answers nothing for config.silence seconds is given up. A process that is stopped, or
 *     busy elsewhere, is not: its kernel answers.
 *   - Of struct gf_wire_config only that and the log are used.
 *   - UCX's library is opened by dlopen with the first wire: where none is opened, nothing of UCX is in the process.
 *
 * Only where HAVE_UCX.
 */
#ifndef GF_TRANSPORT_UCX_H
#define GF_TRANSPORT_UCX_H

#include "transport/wire.h"

extern const struct gf_wire_ops gf_wire_ucx;

#endif
