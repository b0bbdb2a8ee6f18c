/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a communicator exchange small blobs before they have connections: the owner's MPI, or sockets in a test.
 */
#ifndef GF_CORE_BOOTSTRAP_H
#define GF_CORE_BOOTSTRAP_H

#include <stddef.h>

#include "base/status.h"

/* The functions with `all` are collective: every rank calls them in the same order; they block and make the owner's progress.
 * A failure on one rank may leave others waiting: the owner treats it as fatal for the communicator. */
struct gf_bootstrap {
    void *ctx;
    int rank, ranks;
    /* all[r] = mine of rank r, for every r; bytes each. */
    gf_status (*allgather)(void *ctx, const void *mine, void *all, size_t bytes);
    /* from[r] = what rank r put in its to[my rank]; bytes each. */
    gf_status (*alltoall)(void *ctx, const void *to, void *from, size_t bytes);
    /* Drives the owner's progress while we wait; called very often; must not block or call gf_comm functions of this
     * communicator. */
    void (*progress)(void *ctx);
};

/* Collective: GF_OK on all ranks if all came with GF_OK, else on all ranks the status of the lowest rank that did not, and its
 * reason in *why (which also holds this rank's own on entry). Doubles as a barrier. */
gf_status gf_bootstrap_agree(const struct gf_bootstrap *bootstrap, gf_status mine, struct gf_reason *why);

#endif
