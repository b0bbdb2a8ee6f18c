/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer that the application passed lives. Every collective asks this first, host-only programs included, so the
 * answer "host" must cost nanoseconds (host_memory.h says how) and must never be wrong about device memory.
 */
#ifndef GF_MCA_MEMORY_KIND_H
#define GF_MCA_MEMORY_KIND_H

#include "mca_coll_gpufifo/module.h"

struct gf_layout;                      /* stage_layout.h */

/* Fast and one-sided: true for most host buffers after their first use, never for device memory, null or MPI_IN_PLACE. */
static inline bool gf_memory_is_known_host(const void *address)
{
    return gf_host_memory_remembers(&mca_coll_gpufifo_component.host_memory, address);
}

/* What was found, with one query of the driver at most: for device memory everything, else at least the kind (HOST, PINNED or
 * MANAGED). True exactly if host code must not touch the address. */
bool gf_memory_locate(const void *address, struct gf_pointer *info);

/* Must this address be kept from host code? True for device memory and for a freed device pointer. Null and MPI_IN_PLACE: false.
 * Pinned and managed memory: false, host code may touch it. */
static inline bool gf_memory_is_device(const void *address)
{
    struct gf_pointer info;

    return !gf_memory_is_known_host(address) && gf_memory_locate(address, &info);
}

/* Of data at MPI_BOTTOM, some of which may be in host memory: the first block that is in device memory, as above. */
bool gf_memory_locate_any(const struct gf_layout *layout, struct gf_pointer *info);

/* All that is known about it; asks the driver. GF_ERR_INVALID with a sentence for a freed device pointer. */
gf_status gf_memory_query(const void *address, struct gf_pointer *info, struct gf_reason *why);

/* Can `bytes` > 0 contiguous bytes of device memory begin at `start`, which lies in the allocation `where`? False, with a
 * sentence, if they run past its end, and no other allocation begins there: an address range may be mapped from several. */
bool gf_memory_holds(const struct gf_pointer *where, const void *start, size_t bytes, struct gf_reason *why);

#endif
