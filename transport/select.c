/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transports, best first. core/connect.c takes per pair the first that works.
 */
#include "transport/transport.h"

const struct gf_transport *const gf_transports[] = {
    &gf_transport_p2p, &gf_transport_shm, &gf_transport_p2p_copy, &gf_transport_shm_copy, &gf_transport_net,
    NULL,
};
