/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table with one place for each buffer id.
 */
#include "core/exports.h"

#include <stdio.h>

static gf_status export(const struct gf_exports *exports, const struct gf_pointer *pointer, struct gf_ipc_handle *handle,
                        struct gf_reason *why)
{
    if (!pointer->ipc && !exports->by_fd) {
        gf_reason_set(why, "memory at %p cannot be mapped by other processes: plain allocations of the device can",
                      pointer->base);
        return GF_ERR_UNSUPPORTED;
    }
    if (!pointer->ipc && pointer->buffer_id == 0) {
        gf_reason_set(why, "the device does not tell the memory at %p from what was there before", pointer->base);
        return GF_ERR_UNSUPPORTED;
    }
    return gf_device_ipc_export(exports->device, pointer->base, handle, why);
}

gf_status gf_exports_get(struct gf_exports *exports, const struct gf_pointer *pointer, const struct gf_ipc_handle **handle,
                         struct gf_reason *why)
{
    struct gf_export *entry = &exports->entries[pointer->buffer_id % GF_EXPORTS];

    if (entry->buffer_id != pointer->buffer_id || pointer->buffer_id == 0) {
        struct gf_reason refusal = { "" };

        entry->buffer_id = 0;
        gf_status status = export(exports, pointer, &entry->handle, &refusal);

        entry->refused = status == GF_ERR_UNSUPPORTED && !pointer->ipc;
        if (entry->refused) {
            snprintf(entry->why, sizeof entry->why, "%.*s", GF_EXPORTS_WHY - 1, refusal.text);
        } else if (status != GF_OK) {
            gf_reason_set(why, "%s", refusal.text);
            return status;
        }
        entry->buffer_id = pointer->buffer_id;
    }
    if (entry->refused) {
        gf_reason_set(why, "%s", entry->why);
        return GF_ERR_UNSUPPORTED;
    }
    *handle = &entry->handle;
    return GF_OK;
}
