/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IPC handles of this process's buffers: making one takes 20 µs and more, so they are kept by buffer id, which a later
 * allocation at the same address does not have.
 */
#ifndef GF_CORE_EXPORTS_H
#define GF_CORE_EXPORTS_H

#include <stdint.h>

#include "device/device.h"

enum { GF_EXPORTS = 256 };

/* A handle holds nothing, so that a newer one just takes the place of an older one. One thread at a time; zeroed but for the
 * device: empty. */
struct gf_exports {
    gf_device *device;
    struct gf_export {
        uint64_t buffer_id;        /* 0: none */
        struct gf_ipc_handle handle;   /* of the allocation, offset 0 */
    } entries[GF_EXPORTS];
};

/* The handle of the allocation that pointer tells of. It stays valid until the next call. */
gf_status gf_exports_get(struct gf_exports *exports, const struct gf_pointer *pointer, const struct gf_ipc_handle **handle,
                         struct gf_reason *why);

#endif
