/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory of a connection, named to the peer and mapped there.
 */
#include "transport/device_part.h"

#include <string.h>

gf_status gf_device_part_export(struct gf_connector *c, void *address, size_t bytes, struct gf_device_part *part,
                                struct gf_reason *why)
{
    struct gf_pointer where;

    if (gf_fault_hits(c->fault, GF_FAULT_IPC_EXPORT, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_driver_pointer(c->device->driver, address, &where);

    if (status != GF_OK) {
        gf_reason_set(why, "the device does not say what memory a connection has: %s", gf_status_string(status));
        return status;
    }
    part->process = c->device->driver->process;
    part->buffer = (struct gf_buffer){ .id = where.buffer_id, .base = (uintptr_t)address, .size = bytes };
    memcpy(part->buffer.uuid, c->device->caps.uuid, sizeof part->buffer.uuid);
    return gf_device_ipc_export(c->device, address, &part->buffer.handle, why);
}

gf_status gf_device_part_import(struct gf_connector *c, const struct gf_device_part *part, struct gf_import **import,
                                struct gf_reason *why)
{
    *import = NULL;
    if (gf_fault_hits(c->fault, GF_FAULT_IPC_OPEN, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    if (!c->imports) {
        gf_reason_set(why, "there is no table of mappings");
        return GF_ERR_UNSUPPORTED;
    }
    return gf_imports_await(c->imports, part->process, &part->buffer, c->bootstrap, import, why);
}
