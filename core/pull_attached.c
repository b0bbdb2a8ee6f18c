/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The boards of peers, by name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/pull_engine.h"

static bool same_name(const struct gf_segment_name *a, const struct gf_segment_name *b)
{
    return a->pid == b->pid && a->fd == b->fd && a->inode == b->inode && a->device == b->device && a->bytes == b->bytes;
}

static gf_status map_board(gf_pull_engine *engine, struct gf_attached *attached, struct gf_reason *why)
{
    gf_status status = gf_segment_attach(&attached->name, &attached->segment, why);

    if (status != GF_OK) {
        return status;
    }
    attached->memory = attached->segment.address;
    if (attached->segment.bytes < sizeof *attached->memory || attached->memory->magic != GF_BOARD_MAGIC) {
        gf_reason_set(why, "process %" PRId32 " has an offer board of an unknown form: use one version of gpufifo in all ranks",
                      attached->name.pid);
        return GF_ERR_PEER;
    }
    status = gf_device_host_register(engine->device, attached->segment.address, attached->segment.bytes, why);
    if (status != GF_OK) {
        return status;
    }
    attached->kernel_memory = gf_device_kernel_address(engine->device, attached->segment.address);
    if (!attached->kernel_memory) {
        gf_device_host_unregister(engine->device, attached->segment.address);
        gf_reason_set(why, "kernels cannot reach shared host memory on this device");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

static gf_status attach(gf_pull_engine *engine, const struct gf_segment_name *name, struct gf_attached **made,
                        struct gf_reason *why)
{
    struct gf_attached *attached = calloc(1, sizeof *attached);

    if (!attached) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    attached->name = *name;
    attached->own = name->pid == (int32_t)getpid();
    gf_status status = map_board(engine, attached, why);

    if (status != GF_OK) {
        gf_segment_close(&attached->segment);
        free(attached);
        return status;
    }
    attached->next = engine->attached;
    engine->attached = attached;
    *made = attached;
    return GF_OK;
}

gf_status gf_attached_get(gf_pull_engine *engine, const struct gf_segment_name *name, struct gf_attached **found,
                          struct gf_reason *why)
{
    for (struct gf_attached *attached = engine->attached; attached; attached = attached->next) {
        if (same_name(&attached->name, name)) {
            *found = attached;
            return GF_OK;
        }
    }
    return attach(engine, name, found, why);
}

void gf_attached_clear(gf_pull_engine *engine)
{
    while (engine->attached) {
        struct gf_attached *attached = engine->attached;

        engine->attached = attached->next;
        gf_device_host_unregister(engine->device, attached->segment.address);
        gf_segment_close(&attached->segment);
        free(attached);
    }
}
