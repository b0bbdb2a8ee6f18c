/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transports there are. The table that each fills is struct gf_transport in core/connector.h, since core may not look up
 * here.
 */
#ifndef GF_TRANSPORT_TRANSPORT_H
#define GF_TRANSPORT_TRANSPORT_H

#include "core/connector.h"

extern const struct gf_transport gf_transport_p2p;   /* device memory, mapped by IPC */
extern const struct gf_transport gf_transport_shm;   /* host memory, shared, reached by kernels */
extern const struct gf_transport gf_transport_p2p_copy;  /* device to device, copied by the sender's proxy; on request */
extern const struct gf_transport gf_transport_shm_copy;  /* through host memory, copied by the proxies of both; on request */
extern const struct gf_transport gf_transport_net;   /* over a network, by the proxies of both */

/* Null-terminated, best first. */
extern const struct gf_transport *const gf_transports[];

#endif
