/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks offer one another while they connect: a blob each way, of which most fit into what is always exchanged. The *rest*
 * of those that do not goes in a second exchange, as long as the longest of all ranks, and only where there may be one.
 */
#ifndef GF_CORE_RESTS_H
#define GF_CORE_RESTS_H

#include "core/bootstrap.h"
#include "core/connector.h"

/* From one rank to another: of the sending end that leads to it, and of the receiving end that comes from it. */
struct gf_offer {
    int32_t status[2];
    struct gf_blob blob[2];
};

/* Collective, after the offers themselves: out[r] went to rank r, in[r] came from it. Makes `rest` of those that came point into
 * *rests, which is to be freed. may_be: the same on all ranks; false: nothing is exchanged. */
gf_status gf_rests_exchange(const struct gf_bootstrap *bootstrap, bool may_be, const struct gf_offer *out, struct gf_offer *in,
                            unsigned char **rests);

/* Frees those that came, and those of our own offers. */
void gf_rests_free(int ranks, struct gf_offer *out, unsigned char *rests);

#endif
