/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranges of ordinary host memory that kernels of the emulated device may reach. They may lie anywhere, so every pointer query
 * on host memory looks here: it takes no lock.
 *
 * Writers (add, remove) are serialised by the owner. Readers run beside them: an entry counts only if its id, which is never
 * used twice, is the same before and after its bounds are read.
 */
#ifndef GF_DEVICE_EMULATED_REGISTERED_H
#define GF_DEVICE_EMULATED_REGISTERED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GF_REGISTERED_ROOM = 1024 };

struct gf_registered_entry {
    _Atomic uint64_t id;               /* 0: free */
    _Atomic uintptr_t start, end;
};

struct gf_registered {
    _Atomic size_t used;               /* entries from here on have never been used */
    struct gf_registered_entry entries[GF_REGISTERED_ROOM];
};

struct gf_registered_range {
    uintptr_t start;
    size_t bytes;
    uint64_t id;
};

/* GF_ERR_INVALID if it overlaps a range that is there, GF_ERR_NO_MEMORY if all entries are taken. id: not 0, never
 * used before. */
gf_status gf_registered_add(struct gf_registered *registered, uintptr_t start, size_t bytes, uint64_t id, struct gf_reason *why);

/* GF_ERR_INVALID if no range starts here. */
gf_status gf_registered_remove(struct gf_registered *registered, uintptr_t start);

/* Any thread, without a lock. */
bool gf_registered_find(struct gf_registered *registered, uintptr_t address, struct gf_registered_range *range);

#endif
