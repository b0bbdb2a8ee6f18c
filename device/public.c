/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of gpufifo/device.h, on top of gf_driver and gf_device.
 */
#include "gpufifo/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/emulated.h"

struct gpufifo_device {
    gf_driver *driver;
    gf_device *device;
    pthread_mutex_t lock;              /* of the stream: one thread at a time */
    gf_stream *stream;                 /* of copies, fills and functions */
};

static _Thread_local struct gf_reason last_error = {"no call has failed"};

const char *gpufifo_error(void)
{
    return last_error.text;
}

/* 0, or the negative code with the sentence kept for gpufifo_error. why->text may be empty: then the status must do. */
static int result(gf_status status, const char *function, const struct gf_reason *why)
{
    if (status == GF_OK) {
        return 0;
    }
    if (why && why->text[0]) {
        gf_reason_set(&last_error, "%s: %s", function, why->text);
    } else {
        gf_reason_set(&last_error, "%s: %s", function, gf_status_string(status));
    }
    return status < 0 ? (int)status : (int)GF_ERR_DEVICE;
}

static int no_device(const char *function)
{
    return result(GF_ERR_INVALID, function, &(struct gf_reason){"the device is null: open one first"});
}

/* ---- opening ---- */

static bool is_auto(const char *name)
{
    return !name || !*name || strcmp(name, "auto") == 0;
}

/* What is asked for: the caller's word before the environment's. */
static const char *wanted_name(const char *name)
{
    static const char *const variables[] = {"GPUFIFO_DEVICE", "OMPI_MCA_coll_gpufifo_device"};

    for (size_t i = 0; is_auto(name) && i < sizeof variables / sizeof variables[0]; i++) {
        name = getenv(variables[i]);
    }
    return is_auto(name) ? "auto" : name;
}

static gf_status open_driver(const char *name, gf_driver **driver, struct gf_reason *why)
{
    struct gf_reason reason = {""};

    if (strcmp(name, "none") == 0) {
        gf_reason_set(why, "the environment says that no device is to be used (none): set GPUFIFO_DEVICE to cuda or emulated");
        return GF_ERR_UNSUPPORTED;
    }
    if (strcmp(name, "auto") == 0) {
        if (!gf_driver_available("cuda", &reason)) {
            gf_reason_set(why, "no GPU can be used (%.180s); set GPUFIFO_DEVICE=emulated to run without one", reason.text);
            return GF_ERR_UNSUPPORTED;
        }
        name = "cuda";
    }
    return gf_driver_open(name, driver, why);
}

int gpufifo_device_open(const char *name, int ordinal, gpufifo_device **opened)
{
    struct gf_reason why = {""};

    if (!opened) {
        return result(GF_ERR_INVALID, __func__, &(struct gf_reason){"there is no place for the device: give its address"});
    }
    *opened = NULL;
    gpufifo_device *device = calloc(1, sizeof *device);
    if (!device) {
        return result(GF_ERR_NO_MEMORY, __func__, NULL);
    }
    gf_status status = open_driver(wanted_name(name), &device->driver, &why);
    if (status == GF_OK) {
        status = gf_device_open(device->driver, ordinal, &device->device, &why);
    }
    if (status == GF_OK) {
        status = gf_device_stream_create(device->device, &device->stream, &why);
        if (status != GF_OK) {
            gf_device_close(device->device);
        }
    }
    if (status != GF_OK) {
        free(device);
        return result(status, __func__, &why);
    }
    pthread_mutex_init(&device->lock, NULL);
    *opened = device;
    return 0;
}

void gpufifo_device_close(gpufifo_device *device)
{
    if (!device) {
        return;
    }
    gf_device_stream_destroy(device->device, device->stream);
    gf_device_close(device->device);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

const char *gpufifo_device_name(const gpufifo_device *device)
{
    return device ? device->driver->ops->name : "none";
}

/* ---- memory ---- */

int gpufifo_alloc(gpufifo_device *device, enum gpufifo_memory kind, size_t bytes, void **pointer)
{
    struct gf_reason why = {""};
    gf_status status = GF_OK;

    if (!device || !pointer) {
        gf_reason_set(&why, "there is no place for the pointer: give its address");
        return device ? result(GF_ERR_INVALID, __func__, &why) : no_device(__func__);
    }
    *pointer = NULL;
    if (bytes == 0) {
        return 0;
    }
    switch (kind) {
    case GPUFIFO_MEMORY_HOST:
        *pointer = malloc(bytes);
        status = *pointer ? GF_OK : GF_ERR_NO_MEMORY;
        break;
    case GPUFIFO_MEMORY_PINNED:
        status = gf_device_pinned_alloc(device->device, bytes, pointer, &why);
        break;
    case GPUFIFO_MEMORY_MANAGED:
        status = gf_device_managed_alloc(device->device, bytes, pointer, &why);
        break;
    case GPUFIFO_MEMORY_DEVICE:
        status = gf_device_alloc(device->device, bytes, pointer, &why);
        break;
    case GPUFIFO_MEMORY_VMM:
        status = gf_device_alloc_by(device->device, GF_ALLOCATOR_VMM_FD, bytes, pointer, &why);
        break;
    case GPUFIFO_MEMORY_VMM_PRIVATE:
        status = gf_device_alloc_by(device->device, GF_ALLOCATOR_VMM, bytes, pointer, &why);
        break;
    case GPUFIFO_MEMORY_POOL:
        status = gf_device_alloc_by(device->device, GF_ALLOCATOR_POOL, bytes, pointer, &why);
        break;
    default:
        gf_reason_set(&why, "memory of kind %d cannot be allocated: use host, pinned, managed, device, vmm or pool", (int)kind);
        status = GF_ERR_INVALID;
    }
    return result(status, __func__, &why);
}

enum gpufifo_memory gpufifo_kind(gpufifo_device *device, const void *pointer)
{
    struct gf_pointer info;

    if (!device || gf_driver_pointer(device->driver, pointer, &info) != GF_OK) {
        return GPUFIFO_MEMORY_HOST;
    }
    switch (info.kind) {
    case GF_MEMORY_PINNED:  return GPUFIFO_MEMORY_PINNED;
    case GF_MEMORY_MANAGED: return GPUFIFO_MEMORY_MANAGED;
    case GF_MEMORY_DEVICE:  return GPUFIFO_MEMORY_DEVICE;
    case GF_MEMORY_INVALID: return GPUFIFO_MEMORY_INVALID;
    default:                return GPUFIFO_MEMORY_HOST;
    }
}

int gpufifo_free(gpufifo_device *device, void *pointer)
{
    struct gf_reason why = {""};
    gf_status status = GF_OK;

    if (!device) {
        return no_device(__func__);
    }
    if (!pointer) {
        return 0;
    }
    switch (gpufifo_kind(device, pointer)) {
    case GPUFIFO_MEMORY_PINNED:
        status = gf_device_pinned_free(device->device, pointer);
        break;
    case GPUFIFO_MEMORY_MANAGED:
        status = gf_device_managed_free(device->device, pointer);
        break;
    case GPUFIFO_MEMORY_DEVICE:
        status = gf_device_free(device->device, pointer);
        break;
    case GPUFIFO_MEMORY_INVALID:
        status = GF_ERR_INVALID;
        break;
    default:
        free(pointer);
    }
    if (status == GF_ERR_INVALID) {
        gf_reason_set(&why, "%p is not the start of an allocation: it was freed already, or lies inside one", pointer);
    }
    return result(status, __func__, &why);
}

void *gpufifo_kernel_address(gpufifo_device *device, const void *pointer)
{
    return device && pointer ? gf_device_kernel_address(device->device, pointer) : NULL;
}

/* ---- work ---- */

static const struct gf_reason bad_range = {"an address is null, freed, or the bytes run over the end of its allocation"};

int gpufifo_copy(gpufifo_device *device, void *to, const void *from, size_t bytes)
{
    if (!device) {
        return no_device(__func__);
    }
    pthread_mutex_lock(&device->lock);
    gf_status status = gf_device_copy(device->device, device->stream, to, from, bytes);
    if (status == GF_OK) {
        status = gf_device_stream_sync(device->device, device->stream);
    }
    pthread_mutex_unlock(&device->lock);
    return result(status, __func__, status == GF_ERR_INVALID ? &bad_range : NULL);
}

int gpufifo_fill(gpufifo_device *device, void *to, int byte, size_t bytes)
{
    if (!device) {
        return no_device(__func__);
    }
    pthread_mutex_lock(&device->lock);
    gf_status status = gf_device_fill(device->device, device->stream, to, byte, bytes);
    if (status == GF_OK) {
        status = gf_device_stream_sync(device->device, device->stream);
    }
    pthread_mutex_unlock(&device->lock);
    return result(status, __func__, status == GF_ERR_INVALID ? &bad_range : NULL);
}

int gpufifo_run(gpufifo_device *device, void (*function)(void *arguments), void *arguments)
{
    struct gf_reason why = {""};

    if (!device) {
        return no_device(__func__);
    }
    pthread_mutex_lock(&device->lock);
    gf_status status = gf_emulated_run(device->device, device->stream, function, arguments, &why);
    if (status == GF_OK) {
        status = gf_device_stream_sync(device->device, device->stream);
    }
    pthread_mutex_unlock(&device->lock);
    return result(status, __func__, &why);
}

int gpufifo_synchronize(gpufifo_device *device)
{
    return device ? result(gf_device_sync(device->device), __func__, NULL) : no_device(__func__);
}
