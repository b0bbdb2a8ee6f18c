/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making, attaching and registering shared host memory.
 */
#include "transport/part.h"

static gf_status register_part(struct gf_connector *c, struct gf_part *part, struct gf_reason *why)
{
    if (gf_fault_hits(c->fault, GF_FAULT_REGISTER, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_device_host_register(c->device, part->segment.address, part->segment.bytes, why);

    part->registered = status == GF_OK;
    return status;
}

gf_status gf_part_create(struct gf_connector *c, size_t bytes, struct gf_part *part, struct gf_segment_name *name,
                         struct gf_reason *why)
{
    if (gf_fault_hits(c->fault, GF_FAULT_SEGMENT, why)) {
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = gf_segment_create(bytes, &part->segment, name, why);

    return status == GF_OK ? register_part(c, part, why) : status;
}

gf_status gf_part_attach(struct gf_connector *c, const struct gf_segment_name *name, size_t bytes, struct gf_part *part,
                         struct gf_reason *why)
{
    if (name->bytes < bytes) {
        gf_reason_set(why, "rank %d described a segment that is smaller than its connection: use one version of gpufifo on all "
                      "ranks", c->peer);
        return GF_ERR_PEER;
    }
    if (gf_fault_hits(c->fault, GF_FAULT_ATTACH, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_segment_attach(name, &part->segment, why);

    return status == GF_OK ? register_part(c, part, why) : status;
}

char *gf_part_kernel_address(const struct gf_connector *c, const struct gf_part *part)
{
    return part->segment.address ? gf_device_kernel_address(c->device, part->segment.address) : NULL;
}

void gf_part_release(struct gf_connector *c, struct gf_part *part)
{
    if (part->registered) {
        gf_device_host_unregister(c->device, part->segment.address);
        part->registered = false;
    }
    gf_segment_close(&part->segment);
}
