/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of other processes that is mapped here: opening a mapping takes 150 µs and more, so it is kept for the next message
 * from the same buffer, until room is needed or its owner turns out to have freed it.
 *
 * A buffer id is never used again in its process, so a mapping is never taken for that of a newer buffer at the same address.
 * The older mapping is *stale*, and keeps memory from being used that its owner has freed. Closing one waits for all kernels of
 * this process, also for those of the program that wait for a message; so stale ones are closed only when they are too much, or
 * when the device refuses a new mapping because of one.
 */
#ifndef GF_CORE_IMPORTS_H
#define GF_CORE_IMPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"

enum { GF_IMPORTS_IDLE = 256, GF_IMPORTS_STALE_BYTES = 256 << 20, GF_IMPORTS_BUCKETS = 128 };

/* One mapping. Owned by the table; who uses it has counted itself. */
struct gf_import {
    struct gf_import *next;        /* in its bucket */
    struct gf_import *older, *newer;   /* while idle: by last use */
    const void *owner;             /* the owner's process, as whoever uses the table names it */
    uint64_t buffer_id, base, size;
    char *address;                 /* user address of the start of the allocation */
    char *kernel_address;
    bool same_device;              /* as the one that maps */
    bool stale;                    /* its owner has freed the buffer */
    uint32_t uses;
};

/* One thread at a time; the device outlives it. Zeroed but for the device: empty. */
struct gf_imports {
    gf_device *device;
    struct gf_import *buckets[GF_IMPORTS_BUCKETS];
    struct gf_import *oldest, *newest; /* of the idle ones */
    size_t idle;
    uint64_t stale_bytes;
    bool eager;                    /* what nobody uses is unmapped at once; fixed by the owner before the first use */
};

/* The mapping of the allocation, with one more use. owner: where buffer ids are unique. */
gf_status gf_imports_get(struct gf_imports *imports, const void *owner, const struct gf_buffer *buffer, struct gf_import **import,
                         struct gf_reason *why);

/* One use less. What nobody uses is kept, GF_IMPORTS_IDLE mappings at most, unless the table is eager. import may be null. */
void gf_imports_put(struct gf_imports *imports, struct gf_import *import);

/* Unmaps all. Nothing may be in use. */
void gf_imports_clear(struct gf_imports *imports);

#endif
