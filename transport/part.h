/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared host memory of a connection: a segment that the device knows, too. One end makes it, the other attaches it.
 */
#ifndef GF_TRANSPORT_PART_H
#define GF_TRANSPORT_PART_H

#include "core/connector.h"

/* Zeroed: none. Owned by the transport's private data. */
struct gf_part {
    struct gf_segment segment;
    bool registered;               /* kernels and copy engines reach it */
};

/* What was made remains in the part after an error, for gf_part_release. */
gf_status gf_part_create(struct gf_connector *c, size_t bytes, struct gf_part *part, struct gf_segment_name *name,
                         struct gf_reason *why);

/* The peer's, of which this end needs so many bytes; it may be longer, by what the page size makes of them. */
gf_status gf_part_attach(struct gf_connector *c, const struct gf_segment_name *name, size_t bytes, struct gf_part *part,
                         struct gf_reason *why);

/* For kernels of this end; null if there is none, or they cannot reach it. */
char *gf_part_kernel_address(const struct gf_connector *c, const struct gf_part *part);

/* Idempotent. */
void gf_part_release(struct gf_connector *c, struct gf_part *part);

#endif
