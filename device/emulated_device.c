/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations of the emulated device: check the arguments, turn user addresses into kernel addresses, and pass on.
 */
#include "config.h"

#include "device/emulated.h"

#include "device/emulated_copy.h"
#include "device/emulated_ipc.h"
#include "device/emulated_launch.h"
#include "device/emulated_state.h"

/* ---- memory ---- */

static gf_status allocate(gf_device *device, enum gf_memory_kind kind, size_t bytes, void **address, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, why);

    *address = NULL;
    return status == GF_OK ? gf_emulated_memory_alloc(self->memory, kind, bytes, address, why) : status;
}

/* Checks first: only a right address is worth waiting for. */
static gf_status release(gf_device *device, enum gf_memory_kind kind, void *address)
{
    struct gf_emulated *self = gf_emulated_of(device);
    struct gf_pointer info;
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK || !address) {
        return status;
    }
    gf_emulated_memory_query(self->memory, address, &info);
    if (info.kind != kind || info.base != address) {
        return GF_ERR_INVALID;
    }
    gf_emulated_queues_wait(&self->queues);
    return gf_emulated_memory_free(self->memory, kind, address);
}

static gf_status device_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    return allocate(device, GF_MEMORY_DEVICE, bytes, address, why);
}

static gf_status device_alloc_by(gf_device *device, enum gf_allocator by, size_t bytes, void **address, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, why);

    *address = NULL;
    return status == GF_OK ? gf_emulated_memory_alloc_by(self->memory, by, bytes, address, why) : status;
}

static gf_status device_free(gf_device *device, void *address)
{
    return release(device, GF_MEMORY_DEVICE, address);
}

static gf_status pinned_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    return allocate(device, GF_MEMORY_PINNED, bytes, address, why);
}

static gf_status pinned_free(gf_device *device, void *address)
{
    return release(device, GF_MEMORY_PINNED, address);
}

static gf_status managed_alloc(gf_device *device, size_t bytes, void **address, struct gf_reason *why)
{
    return allocate(device, GF_MEMORY_MANAGED, bytes, address, why);
}

static gf_status managed_free(gf_device *device, void *address)
{
    return release(device, GF_MEMORY_MANAGED, address);
}

static gf_status host_register(gf_device *device, void *address, size_t bytes, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, why);

    return status == GF_OK ? gf_emulated_memory_register(self->memory, address, bytes, why) : status;
}

static gf_status host_unregister(gf_device *device, void *address)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK) {
        return status;
    }
    gf_emulated_queues_wait(&self->queues);
    return gf_emulated_memory_unregister(self->memory, address);
}

static void *kernel_address(gf_device *device, const void *address)
{
    struct gf_emulated *self = gf_emulated_of(device);
    enum gf_memory_kind kind;
    void *reached = gf_emulated_memory_reach(self->memory, address, 1, &kind);

    return kind == GF_MEMORY_HOST ? NULL : reached;
}

/* ---- IPC ---- */

static gf_status check_ipc(gf_device *device, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    if (self->options.noipc) {
        gf_reason_set(why, "the emulated device has no IPC: GPUFIFO_EMULATED says noipc");
        return GF_ERR_UNSUPPORTED;
    }
    return gf_emulated_check_process(self, why);
}

static gf_status ipc_export(gf_device *device, const void *address, struct gf_ipc_handle *handle, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = check_ipc(device, why);

    return status == GF_OK ? gf_emulated_ipc_export(self->memory, address, handle, why) : status;
}

static gf_status ipc_open(gf_device *device, const struct gf_ipc_handle *handle, void **address, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = check_ipc(device, why);

    *address = NULL;
    return status == GF_OK ? gf_emulated_ipc_open(self->memory, handle, address, why) : status;
}

static gf_status ipc_close(gf_device *device, void *address)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK) {
        return status;
    }
    gf_emulated_queues_hold_up(&self->queues);
    return gf_emulated_ipc_close(self->memory, address);
}

static gf_status whole_lines(gf_device *device, const unsigned char *uuid, struct gf_reason *why)
{
    (void)uuid;
    if (!device->caps.line128_atomic) {
        gf_reason_set(why, "the emulated device tears lines of 128 bytes: GPUFIFO_EMULATED says torn");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

/* ---- streams ---- */

static gf_status stream_create(gf_device *device, gf_stream **stream, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, why);

    *stream = NULL;
    return status == GF_OK ? gf_emulated_stream_create(&self->queues, stream, why) : status;
}

static void stream_destroy(gf_device *device, gf_stream *stream)
{
    struct gf_emulated *self = gf_emulated_of(device);
    if (stream && gf_emulated_check_process(self, NULL) == GF_OK) {
        gf_emulated_stream_destroy(stream);
    }
}

static gf_status copy(gf_device *device, gf_stream *stream, void *to, const void *from, size_t bytes)
{
    struct gf_emulated *self = gf_emulated_of(device);
    enum gf_memory_kind to_kind, from_kind;
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK || bytes == 0) {
        return status;
    }
    void *target = gf_emulated_memory_reach(self->memory, to, bytes, &to_kind);
    void *source = gf_emulated_memory_reach(self->memory, from, bytes, &from_kind);
    if (!stream || !target || !source) {
        return GF_ERR_INVALID;
    }
    bool within = self->options.queued && to_kind == GF_MEMORY_DEVICE && from_kind == GF_MEMORY_DEVICE
        && gf_emulated_ipc_gpu(self->memory, to) == gf_emulated_ipc_gpu(self->memory, from);

    status = gf_emulated_copy(stream, target, source, bytes, within);
    /* As with a GPU, which stages pageable memory: the caller may reuse it on return, and must not rely on getting away. */
    if (status == GF_OK && (to_kind == GF_MEMORY_HOST || from_kind == GF_MEMORY_HOST)) {
        gf_emulated_stream_wait(stream);
    }
    return status;
}

/* By the alias, as kernels. */
static gf_status copy_at_once(gf_device *device, void *to, const void *from, size_t bytes)
{
    struct gf_emulated *self = gf_emulated_of(device);
    enum gf_memory_kind to_kind, from_kind;
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK) {
        return status;
    }
    void *target = gf_emulated_memory_reach(self->memory, to, bytes, &to_kind);
    const void *source = gf_emulated_memory_reach(self->memory, from, bytes, &from_kind);

    if (!target || !source) {
        return GF_ERR_INVALID;
    }
    memmove(target, source, bytes);
    return GF_OK;
}

static gf_status fill(gf_device *device, gf_stream *stream, void *to, int byte, size_t bytes)
{
    struct gf_emulated *self = gf_emulated_of(device);
    enum gf_memory_kind kind;
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK || bytes == 0) {
        return status;
    }
    void *target = gf_emulated_memory_reach(self->memory, to, bytes, &kind);
    if (!stream || !target) {
        return GF_ERR_INVALID;
    }
    status = gf_emulated_fill(stream, target, byte, bytes);
    if (status == GF_OK && kind == GF_MEMORY_HOST) {
        gf_emulated_stream_wait(stream);
    }
    return status;
}

static gf_status stream_query(gf_device *device, gf_stream *stream)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status != GF_OK) {
        return status;
    }
    return gf_emulated_stream_idle(stream) ? GF_OK : GF_IN_PROGRESS;
}

static gf_status stream_sync(gf_device *device, gf_stream *stream)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status == GF_OK) {
        gf_emulated_stream_wait(stream);
    }
    return status;
}

static gf_status device_sync(gf_device *device)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, NULL);

    if (status == GF_OK) {
        gf_emulated_queues_wait(&self->queues);
    }
    return status;
}

static gf_status device_query(gf_device *device)
{
    return gf_emulated_queues_idle(&gf_emulated_of(device)->queues) ? GF_OK : GF_IN_PROGRESS;
}

static gf_status launch(gf_device *device, gf_stream *stream, enum gf_kernel kernel, int blocks, int threads,
                        const void *arguments, size_t bytes, struct gf_reason *why)
{
    struct gf_emulated *self = gf_emulated_of(device);
    gf_status status = gf_emulated_check_process(self, why);

    if (status != GF_OK) {
        return status;
    }
    if (!stream || (unsigned)kernel >= GF_KERNEL_COUNT) {
        gf_reason_set(why, stream ? "there is no kernel %d" : "kernel %d needs a stream", (int)kernel);
        return GF_ERR_INVALID;
    }
    if (threads < 32 || threads > GF_BLOCK_THREADS || threads % 32 != 0) {
        gf_reason_set(why, "a block has 32 to %d threads, a multiple of 32, not %d", GF_BLOCK_THREADS, threads);
        return GF_ERR_INVALID;
    }
    return gf_emulated_launch(stream, gf_emulated_kernels[kernel], blocks, arguments, bytes, why);
}

bool gf_device_is_emulated(const gf_device *device)
{
    return device->ops == &gf_emulated_device_ops;
}

gf_status gf_emulated_run(gf_device *device, gf_stream *stream, void (*function)(void *argument), void *argument,
                          struct gf_reason *why)
{
    if (!gf_device_is_emulated(device)) {
        gf_reason_set(why, "functions of the program run on the emulated device only: use a kernel of your own on this one");
        return GF_ERR_UNSUPPORTED;
    }
    if (!function) {
        gf_reason_set(why, "there is no function to run");
        return GF_ERR_INVALID;
    }
    gf_status status = gf_emulated_check_process(gf_emulated_of(device), why);
    return status == GF_OK ? gf_emulated_call(stream, function, argument) : status;
}

static gf_status dmabuf_export(gf_device *device, const void *address, size_t bytes, struct gf_dmabuf *dmabuf,
                               struct gf_reason *why)
{
    (void)device;
    (void)address;
    (void)bytes;
    (void)dmabuf;
    gf_reason_set(why, "the emulated device's memory is the host's, which has no dma-buf");
    return GF_ERR_UNSUPPORTED;
}

const struct gf_device_ops gf_emulated_device_ops = {
    .alloc = device_alloc,
    .alloc_by = device_alloc_by,
    .free = device_free,
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
    .managed_alloc = managed_alloc,
    .managed_free = managed_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .kernel_address = kernel_address,
    .ipc_export = ipc_export,
    .ipc_open = ipc_open,
    .ipc_close = ipc_close,
    .dmabuf_export = dmabuf_export,
    .whole_lines = whole_lines,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .copy = copy,
    .copy_at_once = copy_at_once,
    .fill = fill,
    .stream_query = stream_query,
    .stream_sync = stream_sync,
    .device_sync = device_sync,
    .device_query = device_query,
    .launch = launch,
    .close = gf_emulated_close,
};
