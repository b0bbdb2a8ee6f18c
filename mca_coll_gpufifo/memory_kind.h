/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer that the application passed lives. Every collective asks this first, host-only programs included, so the
 * answer "host" must cost nanoseconds (host_memory.h says how) and must never be wrong about device memory.
 */
#ifndef GF_MCA_MEMORY_KIND_H
#define GF_MCA_MEMORY_KIND_H

#include <stdbool.h>

#include "device/device.h"

/* Must this address be kept from host code? True for device memory and for a freed device pointer. Null and MPI_IN_PLACE: false.
 * Pinned and managed memory: false, host code may touch it. */
bool gf_memory_is_device(const void *address);

/* The same, and what was found: for device memory everything, else at least the kind (HOST, PINNED or MANAGED). One query of the
 * driver at most. */
bool gf_memory_locate(const void *address, struct gf_pointer *info);

/* All that is known about it; asks the driver. GF_ERR_INVALID with a sentence for a freed device pointer. */
gf_status gf_memory_query(const void *address, struct gf_pointer *info, struct gf_reason *why);

#endif
