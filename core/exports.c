/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table with one place for each buffer id.
 */
#include "core/exports.h"

gf_status gf_exports_get(struct gf_exports *exports, const struct gf_pointer *pointer, const struct gf_ipc_handle **handle,
                         struct gf_reason *why)
{
    struct gf_export *entry = &exports->entries[pointer->buffer_id % GF_EXPORTS];

    if (entry->buffer_id != pointer->buffer_id || pointer->buffer_id == 0) {
        entry->buffer_id = 0;
        gf_status status = gf_device_ipc_export(exports->device, pointer->base, &entry->handle, why);

        if (status != GF_OK) {
            return status;
        }
        entry->buffer_id = pointer->buffer_id;
    }
    *handle = &entry->handle;
    return GF_OK;
}
