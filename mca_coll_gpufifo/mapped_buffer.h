/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer is that others shall map.
 */
#ifndef GF_MCA_MAPPED_BUFFER_H
#define GF_MCA_MAPPED_BUFFER_H

#include "core/mapped_call.h"
#include "mca_coll_gpufifo/memory_kind.h"

/* Of that address and length. False: not in device memory, or not in one allocation. */
static inline bool gf_mapped_buffer_locate(struct gf_mapped_buffer *buffer)
{
    gf_memory_locate(buffer->address, &buffer->where);
    return buffer->where.kind == GF_MEMORY_DEVICE &&
           buffer->bytes <= buffer->where.size - (size_t)(buffer->address - (char *)buffer->where.base);
}

#endif
