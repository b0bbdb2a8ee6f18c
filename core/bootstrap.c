/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreement among the ranks, over the owner's exchange.
 */
#include "core/bootstrap.h"

#include <stdint.h>
#include <stdlib.h>

struct result {
    int32_t status;
    struct gf_reason why;
};

gf_status gf_bootstrap_agree(const struct gf_bootstrap *bootstrap, gf_status mine, struct gf_reason *why)
{
    struct result own = { .status = mine };
    struct result *all = calloc((size_t)bootstrap->ranks, sizeof *all);
    gf_status status;

    if (!all) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    if (mine != GF_OK && why) {
        own.why = *why;
    }
    status = bootstrap->allgather(bootstrap->ctx, &own, all, sizeof own);
    if (status != GF_OK) {
        gf_reason_set(why, "the ranks could not exchange messages: %s", gf_status_string(status));
    }
    for (int r = 0; status == GF_OK && r < bootstrap->ranks; r++) {
        if (all[r].status != GF_OK) {
            status = (gf_status)all[r].status;
            gf_reason_set(why, "rank %d: %s", r, all[r].why.text);
        }
    }
    free(all);
    return status;
}
