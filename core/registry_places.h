/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's own places for mapped buffers, for core/registry.c.
 */
#ifndef GF_CORE_REGISTRY_PLACES_H
#define GF_CORE_REGISTRY_PLACES_H

#include "core/registry.h"

enum { GF_REGISTRY_WHY_LENGTH = 200 };     /* of a sentence; `why` of a page holds it with what stands before */

static inline struct gf_registry_page *gf_registry_own_page(const struct gf_registry *g)
{
    return g->of[g->rank].page;
}

/* Finds or makes places for the buffers of the call that is being entered, and writes the record of it, which nobody reads
 * yet. */
void gf_registry_write_record(struct gf_registry *g, const struct gf_registry_buffer *buffers, const uint64_t what[2]);

#endif
