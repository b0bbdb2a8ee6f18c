/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failures of connections.
 */
#include "transport/failure.h"

#include <stdio.h>

#include "core/abort.h"

void gf_failure_raise(const struct gf_connector *c, gf_status status, const char *what, const char *reason)
{
    char text[sizeof ((struct gf_abort_page *)0)->text];

    if (c->abort) {
        snprintf(text, sizeof text, "rank %d failed: %s the connection %s rank %d by %s: %s", c->me, what,
                 c->is_sender ? "to" : "from", c->peer, c->transport->name, reason);
        gf_abort_raise(c->abort, status, text);
    }
}

bool gf_failure_seen(const struct gf_connector *c, gf_status *status, struct gf_reason *why)
{
    *status = c->abort ? gf_abort_check(c->abort, why) : GF_OK;
    return *status != GF_OK;
}
