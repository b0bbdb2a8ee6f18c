/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Setting up a communicator's registry and flags.
 */
#include "core/mapped.h"

/* CUDA hands out memory in pieces of this size. The flags have theirs alone: then none of the program's buffers that is freed
 * and still mapped can be in their way. */
enum { DEVICE_PIECE = 2 << 20 };

static size_t flags_bytes(int ranks)
{
    size_t bytes = (size_t)ranks * GF_MAX_CHANNELS * GF_LINE;

    return bytes < DEVICE_PIECE ? DEVICE_PIECE : bytes;
}

/* Zeroed: an epoch of an earlier life would be taken for one of ours. */
static gf_status allocate_flags(struct gf_mapped *m, const struct gf_connect_setup *setup, struct gf_reason *why)
{
    size_t bytes = flags_bytes(setup->peers->ranks);

    if (!setup->imports) {
        gf_reason_set(why, "there is no table of mappings");
        return GF_ERR_UNSUPPORTED;
    }
    if (gf_fault_hits(setup->fault, GF_FAULT_DEVICE_ALLOC, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_device_alloc(m->device, bytes, &m->flags, why);

    if (status != GF_OK) {
        m->flags = NULL;
        return GF_ERR_UNSUPPORTED;
    }
    status = gf_device_fill(m->device, setup->stream, m->flags, 0, bytes);
    if (status == GF_OK) {
        status = gf_device_stream_sync(m->device, setup->stream);
    }
    if (status == GF_OK) {
        status = gf_driver_pointer(m->device->driver, m->flags, &m->flags_where);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "device memory for flags could not be prepared: %s", gf_status_string(status));
    }
    return status;
}

/* The same on all ranks. */
static gf_status check(const struct gf_connect_setup *setup, struct gf_reason *why)
{
    if (setup->config->transport != GF_TRANSPORT_AUTO && setup->config->transport != GF_TRANSPORT_P2P) {
        gf_reason_set(why, "device memory would be mapped as by the transport p2p, and another transport was asked for");
        return GF_ERR_UNSUPPORTED;
    }
    for (int r = 0; r < setup->peers->ranks; r++) {
        if (!setup->peers->infos[r].ipc) {
            gf_reason_set(why, "the device memory of rank %d cannot be mapped by other processes", r);
            return GF_ERR_UNSUPPORTED;
        }
    }
    return GF_OK;
}

gf_status gf_mapped_connect(struct gf_mapped *m, const struct gf_connect_setup *setup, struct gf_watch *watch,
                            struct gf_reason *why)
{
    if (m->device) {
        return GF_OK;
    }
    *m = (struct gf_mapped){ .device = setup->device };
    gf_status status = check(setup, why);

    if (status == GF_OK) {
        status = gf_bootstrap_agree(setup->bootstrap, allocate_flags(m, setup, why), why);
    }
    if (status == GF_OK) {
        status = gf_registry_create(&m->registry, setup->imports, watch, setup->fault, setup->config, why);
    }
    if (status != GF_OK) {
        gf_mapped_destroy(m);
    }
    return status;
}

void gf_mapped_destroy(struct gf_mapped *m)
{
    gf_registry_destroy(&m->registry);
    if (m->flags) {
        gf_device_free(m->device, m->flags);
    }
    *m = (struct gf_mapped){ .device = NULL };
}
