/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the two-shot allreduce.
 */
#include "core/two_shot.h"

enum { SEND, RECV, FLAGS };

/* CUDA hands out memory in pieces of this size, and maps such a piece in another process once: the flags have theirs alone. */
enum { DEVICE_PIECE = 2 << 20 };

static size_t flags_bytes(int ranks)
{
    size_t bytes = (size_t)ranks * GF_MAX_CHANNELS * GF_LINE;

    return bytes < DEVICE_PIECE ? DEVICE_PIECE : bytes;
}

/* Zeroed: an epoch of an earlier life would be taken for one of ours. */
static gf_status allocate_flags(struct gf_two_shot *t, const struct gf_connect_setup *setup, struct gf_reason *why)
{
    size_t bytes = flags_bytes(setup->peers->ranks);

    if (gf_fault_hits(setup->fault, GF_FAULT_DEVICE_ALLOC, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    gf_status status = gf_device_alloc(t->device, bytes, &t->flags, why);

    if (status != GF_OK) {
        t->flags = NULL;
        return GF_ERR_UNSUPPORTED;
    }
    status = gf_device_fill(t->device, setup->stream, t->flags, 0, bytes);
    if (status == GF_OK) {
        status = gf_device_stream_sync(t->device, setup->stream);
    }
    if (status == GF_OK) {
        status = gf_driver_pointer(t->device->driver, t->flags, &t->flags_where);
    }
    if (status != GF_OK) {
        gf_reason_set(why, "device memory for flags could not be prepared: %s", gf_status_string(status));
    }
    return status;
}

static gf_status check(const struct gf_connect_setup *setup, struct gf_reason *why)
{
    if (setup->config->transport != GF_TRANSPORT_AUTO && setup->config->transport != GF_TRANSPORT_P2P) {
        gf_reason_set(why, "two-shot maps device memory as the transport p2p does, and another transport was asked for");
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

gf_status gf_two_shot_connect(struct gf_two_shot *t, const struct gf_connect_setup *setup, struct gf_watch *watch,
                              struct gf_reason *why)
{
    gf_status status = check(setup, why);

    *t = (struct gf_two_shot){ .device = setup->device };
    if (status != GF_OK) {
        return status;
    }
    status = gf_bootstrap_agree(setup->bootstrap, allocate_flags(t, setup, why), why);
    if (status == GF_OK) {
        status = gf_registry_create(&t->registry, setup->device, watch, setup->fault,
                                    setup->config->deadline_ms, why);
    }
    if (status != GF_OK) {
        gf_two_shot_destroy(t);
    }
    return status;
}

gf_status gf_two_shot_enter(struct gf_two_shot *t, const struct gf_two_shot_buffers *buffers, size_t count, enum gf_type type,
                            enum gf_op op, struct gf_reason *why)
{
    size_t bytes = count * gf_type_size(type);
    const struct gf_registry_buffer all[GF_REGISTRY_BUFFERS] = {
        [SEND] = { buffers->send, bytes, buffers->send_where }, [RECV] = { buffers->recv, bytes, buffers->recv_where },
        [FLAGS] = { t->flags, 0, &t->flags_where },
    };
    const uint64_t what[2] = { count, (uint64_t)type << 32 | (uint64_t)op };

    return gf_registry_enter(&t->registry, all, what, why);
}

gf_status gf_two_shot_allreduce(struct gf_two_shot *t, const struct gf_plan *plan, const struct gf_reduction *data,
                                struct gf_execution *e, struct gf_reason *why)
{
    struct gf_two_shot_work work = { .data = *data, .epoch = t->registry.call };

    for (int r = 0; r < t->registry.ranks; r++) {
        work.send[r] = gf_registry_address(&t->registry, r, SEND);
        work.recv[r] = gf_registry_address(&t->registry, r, RECV);
        work.flags[r] = gf_registry_address(&t->registry, r, FLAGS);
    }
    return gf_execution_run(e, GF_KERNEL_ALLREDUCE_TWO_SHOT, plan->blocks, plan->threads, &work.task, sizeof work, why);
}

void gf_two_shot_destroy(struct gf_two_shot *t)
{
    gf_registry_destroy(&t->registry);
    if (t->flags) {
        gf_device_free(t->device, t->flags);
        t->flags = NULL;
    }
}
