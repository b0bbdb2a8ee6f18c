/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IPC handles of this process's buffers: making one takes 20 µs and more, so they are kept by buffer id, which a later
 * allocation at the same address does not have. So is a refusal, with its sentence.
 */
#ifndef GF_CORE_EXPORTS_H
#define GF_CORE_EXPORTS_H

#include <stdint.h>

#include "device/device.h"

enum { GF_EXPORTS = 256, GF_EXPORTS_WHY = 176 };

/* A handle holds nothing, so that a newer one just takes the place of an older one. One thread at a time; zeroed but for the
 * device and by_fd: empty. */
struct gf_exports {
    gf_device *device;
    bool by_fd;                    /* memory that only a file descriptor shares is exported, too */
    struct gf_export {
        uint64_t buffer_id;        /* 0: none */
        bool refused;
        union {
            struct gf_ipc_handle handle;   /* of the allocation, offset 0 */
            char why[GF_EXPORTS_WHY];      /* where it was refused */
        };
    } entries[GF_EXPORTS];
};

/* The handle of the allocation that pointer tells of, which is device memory. It stays valid until the next call.
 * GF_ERR_UNSUPPORTED with a sentence: this memory cannot be mapped by others, or only by a descriptor and by_fd is not set. */
gf_status gf_exports_get(struct gf_exports *exports, const struct gf_pointer *pointer, const struct gf_ipc_handle **handle,
                         struct gf_reason *why);

#endif
