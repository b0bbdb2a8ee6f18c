/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The UCX wire: every network that UCX knows (TCP, EFA, Slingshot, …), by puts and active messages of a worker of our own. Which
 * interfaces it takes stays UCX's choice: UCX_NET_DEVICES and UCX_TLS narrow it. It lives beside Open MPI's own use of UCX.
 *
 *   - A process that lanes lead to is one endpoint, however many lanes there are. It stays open until the wire is closed, or it
 *     fails; then all lanes to that process are broken, and no others.
 *   - Large data are put (ucp_put_nbx); a notification of data that were put is an active message that follows their flush. Short
 *     data travel in the notification itself, and are checked and stored by its receiver.
 *   - A key that was announced stays known until the lane ends. One that was never announced looks like one that has not arrived
 *     yet: GF_NO_RESOURCE.
 *   - Destroying a lane whose data are still on their way waits for them, for a second at most; then the endpoint is given up.
 *   - Of struct gf_wire_config only the log is used.
 *   - UCX's library is opened by dlopen with the first wire: where none is opened, nothing of UCX is in the process.
 *
 * Only where HAVE_UCX.
 */
#ifndef GF_TRANSPORT_UCX_H
#define GF_TRANSPORT_UCX_H

#include "transport/wire.h"

extern const struct gf_wire_ops gf_wire_ucx;

#endif
