/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory that one end of a connection owns, and the other maps: through the process's table of mappings (core/imports.h),
 * which knows what else of that process is mapped here and may be in the way.
 */
#ifndef GF_TRANSPORT_DEVICE_PART_H
#define GF_TRANSPORT_DEVICE_PART_H

#include "core/connector.h"
#include "core/imports.h"

/* Plain bytes, of a blob. */
struct gf_device_part {
    uint64_t process;              /* the owner's gf_driver.process */
    struct gf_buffer buffer;
};

/* Describes memory of gf_device_alloc for the peer. */
gf_status gf_device_part_export(struct gf_connector *c, void *address, size_t bytes, struct gf_device_part *part,
                                struct gf_reason *why);

/* Maps the peer's; *import is to be dropped (gf_imports_drop), and null after an error. */
gf_status gf_device_part_import(struct gf_connector *c, const struct gf_device_part *part, struct gf_import **import,
                                struct gf_reason *why);

#endif
