/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a connection that the proxy serves tells of its failure: all waits of the communicator end, with a sentence.
 */
#ifndef GF_TRANSPORT_FAILURE_H
#define GF_TRANSPORT_FAILURE_H

#include <stdbool.h>

#include "core/connector.h"

/* "rank 1 failed: <what> the connection to rank 2 by p2p_copy: <reason>". Without an abort page nobody is told. */
void gf_failure_raise(const struct gf_connector *c, gf_status status, const char *what, const char *reason);

/* Has the communicator been aborted? *status and *why say how; why may be null. */
bool gf_failure_seen(const struct gf_connector *c, gf_status *status, struct gf_reason *why);

#endif
