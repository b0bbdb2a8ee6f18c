/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What collectives over mapped buffers have in common: a communicator's registry, and words by which its kernels meet.
 *
 * A call enters with its buffers (gf_registry_enter): then all ranks have, and all have mapped all of them, or none goes on. Then
 * each rank runs its part. Kernels that store into the buffers of others meet by the flags (core/mapped_allreduce.h); where
 * they only fetch, no kernel waits, and the hosts meet (gf_registry_leave; core/exchange.h).
 */
#ifndef GF_CORE_MAPPED_H
#define GF_CORE_MAPPED_H

#include "core/connect.h"
#include "core/registry.h"

/* Owned by the communicator. */
struct gf_mapped {
    struct gf_registry registry;
    gf_device *device;             /* null: not connected */
    void *flags;                   /* device memory, which peers map like a buffer of the program */
    struct gf_pointer flags_where;
    bool refused;                  /* that some buffers cannot be mapped has been logged */
};

/* Collective, the same result on all ranks; after an error nothing is left behind. Connected already: GF_OK. */
gf_status gf_mapped_connect(struct gf_mapped *m, const struct gf_connect_setup *setup, struct gf_watch *watch,
                            struct gf_reason *why);

/* The flags, in place of a buffer that a call does not have. */
static inline struct gf_registry_buffer gf_mapped_flags(const struct gf_mapped *m)
{
    return (struct gf_registry_buffer){ m->flags, 0, &m->flags_where, false };
}

/* Idempotent; zeros are allowed. */
void gf_mapped_destroy(struct gf_mapped *m);

#endif
