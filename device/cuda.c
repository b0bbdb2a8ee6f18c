/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The process's CUDA driver, its devices and what they can do. Loading the driver touches no GPU; opening a device initialises
 * CUDA and retains the primary context, the one that the CUDA runtime uses too.
 */
#include "device/cuda_device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "device/drivers.h"

/* Made by the build from what nvcc compiled; size 0 where there was no nvcc. */
extern const unsigned char gf_kernels_fatbin[];
extern const size_t gf_kernels_fatbin_size;

/* Attributes that an older cuda.h has no name for. A driver that does not know one refuses it. */
enum {
    ATTRIBUTE_IPC = 125,             /* CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED: legacy IPC, memory and events alike */
    ATTRIBUTE_MPS = 133,             /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED */
    ATTRIBUTE_HOST_NUMA_ID = 134     /* CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID */
};

static int attribute(const struct gf_cuda_device *device, int which, int otherwise)
{
    int value = otherwise;
    CUresult result = gf_cuda_api_of(device)->cuDeviceGetAttribute(&value, (CUdevice_attribute)which, device->handle);
    return result == CUDA_SUCCESS ? value : otherwise;
}

/* As the system writes it. */
static void read_pci(const struct gf_cuda_device *device, char *pci, int bytes)
{
    if (gf_cuda_api_of(device)->cuDeviceGetPCIBusId(pci, bytes, device->handle) != CUDA_SUCCESS)
        pci[0] = '\0';
    for (char *c = pci; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

static int numa_node_from_sysfs(const char *pci)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", pci);
    FILE *file = fopen(path, "r");
    int node = -1;
    if (file) {
        if (fscanf(file, "%d", &node) != 1)
            node = -1;
        fclose(file);
    }
    return node;
}

/* The driver's word is the last one. */
static enum gf_arrivals arrivals(const struct gf_cuda_device *device)
{
    int ordering = attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, -1);
    if (ordering >= 0)
        return ordering >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ? GF_ARRIVALS_BY_DRIVER : GF_ARRIVALS_UNORDERED;
    if (attribute(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0) == 1)
        return GF_ARRIVALS_BY_COHERENT_LINK;
    return gf_cuda_capability(device) >= 90 ? GF_ARRIVALS_BY_CAPABILITY : GF_ARRIVALS_UNORDERED;
}

static gf_status read_caps(struct gf_cuda_device *device, struct gf_reason *why)
{
    const struct gf_cuda_api *api = gf_cuda_api_of(device);
    struct gf_device_caps *caps = &device->base.caps;
    CUuuid uuid;
    CUresult result = api->cuDeviceGetUuid_v2(&uuid, device->handle);
    if (result != CUDA_SUCCESS)
        return gf_cuda_fail(api, result, why, "asking CUDA device %d for its identity", device->base.ordinal);
    memcpy(caps->uuid, &uuid, sizeof caps->uuid);

    /* Older drivers do not tell about IPC; it works there wherever the GPU has memory of its own. */
    bool discrete = attribute(device, CU_DEVICE_ATTRIBUTE_INTEGRATED, 1) == 0;
    caps->ipc = attribute(device, ATTRIBUTE_IPC, discrete) == 1;
    caps->concurrent_processes = attribute(device, ATTRIBUTE_MPS, 0) == 1;
    caps->line128_atomic = gf_cuda_keeps_lines_whole(gf_cuda_capability(device));
    caps->host_types = false;
    caps->copies_beside_kernels = false;
    caps->arrivals = arrivals(device);
    /* One block of GF_BLOCK_THREADS fits on every multiprocessor there is. Under MPS the driver counts this process's share. */
    caps->blocks = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    read_pci(device, caps->pci, sizeof caps->pci);
    caps->numa_node = attribute(device, ATTRIBUTE_HOST_NUMA_ID, -1);
    if (caps->numa_node < 0)
        caps->numa_node = numa_node_from_sysfs(caps->pci);
    return GF_OK;
}

static void device_free(struct gf_cuda_device *device)
{
    pthread_mutex_destroy(&device->mappings_lock);
    pthread_mutex_destroy(&device->kernels.lock);
    pthread_mutex_destroy(&device->census_lock);
    free(device);
}

/* The primary context is released only if it is still the one we retained: the reference would be the program's. */
static void device_destroy(struct gf_cuda_device *device, bool lost)
{
    gf_cuda_ipc_close_all(device);
    gf_cuda_vmm_forget_all(device);
    gf_cuda_census_end(device);
    gf_cuda_kernels_unload(device);
    if (!lost)
        gf_cuda_api_of(device)->cuDevicePrimaryCtxRelease_v2(device->handle);
    device_free(device);
}

static gf_status initialise(struct gf_cuda_driver *driver, struct gf_reason *why)
{
    CUresult result = driver->api.cuInit(0);
    return result == CUDA_SUCCESS ? GF_OK : gf_cuda_fail(&driver->api, result, why, "CUDA does not start");
}

static const struct gf_device_ops device_ops;

static gf_status device_make(struct gf_cuda_driver *driver, int ordinal, struct gf_cuda_device **made, struct gf_reason *why)
{
    const struct gf_cuda_api *api = &driver->api;
    struct gf_cuda_device *device = calloc(1, sizeof *device);
    if (!device) {
        gf_reason_set(why, "no host memory for CUDA device %d", ordinal);
        return GF_ERR_NO_MEMORY;
    }
    device->base.ops = &device_ops;
    device->base.driver = &driver->base;
    device->base.ordinal = ordinal;
    device->driver = driver;
    device->kernels.image = gf_kernels_fatbin_size ? gf_kernels_fatbin : NULL;
    pthread_mutex_init(&device->mappings_lock, NULL);
    pthread_mutex_init(&device->kernels.lock, NULL);
    pthread_mutex_init(&device->census_lock, NULL);

    CUresult result = api->cuDeviceGet(&device->handle, ordinal);
    if (result == CUDA_SUCCESS)
        result = api->cuDevicePrimaryCtxRetain(&device->context, device->handle);
    if (result != CUDA_SUCCESS) {
        device_free(device);
        return gf_cuda_fail(api, result, why, "opening CUDA device %d", ordinal);
    }
    if (!api->cuCtxGetId || api->cuCtxGetId(device->context, &device->context_id) != CUDA_SUCCESS)
        device->context_id = 0;
    gf_status status = read_caps(device, why);
    if (status != GF_OK) {
        api->cuDevicePrimaryCtxRelease_v2(device->handle);
        device_free(device);
        return status;
    }
    *made = device;
    return GF_OK;
}

/* driver->lock is held. A device whose context was reset is replaced by a new one; those who hold it close it all the same. */
static gf_status find_or_make(struct gf_cuda_driver *driver, int ordinal, struct gf_cuda_device **device, struct gf_reason *why)
{
    struct gf_cuda_device *old = driver->devices[ordinal];
    if (old && !gf_cuda_is_lost(old)) {
        *device = old;
        return GF_OK;
    }
    gf_status status = device_make(driver, ordinal, device, why);
    if (status != GF_OK)
        return status;
    driver->devices[ordinal] = *device;
    atomic_store(&driver->contexts[ordinal], (*device)->context);
    if (old && old->references == 0)
        device_destroy(old, true);
    return GF_OK;
}

static gf_status device_open(gf_driver *base, int ordinal, gf_device **opened, struct gf_reason *why)
{
    struct gf_cuda_driver *driver = (struct gf_cuda_driver *)base;
    *opened = NULL;
    gf_status status = initialise(driver, why);
    if (status != GF_OK)
        return status;
    CUdevice current;
    if (ordinal < 0)
        ordinal = driver->api.cuCtxGetDevice(&current) == CUDA_SUCCESS ? current : 0;
    int count = 0;
    driver->api.cuDeviceGetCount(&count);
    if (ordinal >= count || ordinal >= GF_CUDA_DEVICES) {
        gf_reason_set(why, "there is no CUDA device %d: this process sees %d, numbered from 0; look at nvidia-smi and "
                      "CUDA_VISIBLE_DEVICES", ordinal, count);
        return GF_ERR_INVALID;
    }
    pthread_mutex_lock(&driver->lock);
    struct gf_cuda_device *device = NULL;
    status = find_or_make(driver, ordinal, &device, why);
    if (status == GF_OK) {
        device->references++;
        *opened = &device->base;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

static void device_close(gf_device *base)
{
    struct gf_cuda_device *device = gf_cuda_device_of(base);
    struct gf_cuda_driver *driver = device->driver;
    pthread_mutex_lock(&driver->lock);
    bool lost = gf_cuda_is_lost(device);
    bool last = --device->references == 0 && (lost || atomic_load(&device->allocations) <= 0);
    if (last && driver->devices[base->ordinal] == device) {
        driver->devices[base->ordinal] = NULL;
        atomic_store(&driver->contexts[base->ordinal], NULL);
    }
    if (last)
        device_destroy(device, lost);
    pthread_mutex_unlock(&driver->lock);
}

static int device_count(gf_driver *base)
{
    struct gf_cuda_driver *driver = (struct gf_cuda_driver *)base;
    int count = 0;
    if (initialise(driver, NULL) != GF_OK || driver->api.cuDeviceGetCount(&count) != CUDA_SUCCESS)
        return 0;
    return count < GF_CUDA_DEVICES ? count : GF_CUDA_DEVICES;
}

static const struct gf_device_ops device_ops = {
    .alloc = gf_cuda_alloc,
    .alloc_by = gf_cuda_alloc_by,
    .free = gf_cuda_free,
    .pinned_alloc = gf_cuda_pinned_alloc,
    .pinned_free = gf_cuda_pinned_free,
    .managed_alloc = gf_cuda_managed_alloc,
    .managed_free = gf_cuda_free,
    .host_register = gf_cuda_host_register,
    .host_unregister = gf_cuda_host_unregister,
    .kernel_address = gf_cuda_kernel_address,
    .ipc_export = gf_cuda_ipc_export,
    .ipc_open = gf_cuda_ipc_open,
    .ipc_close = gf_cuda_ipc_close,
    .dmabuf_export = gf_cuda_dmabuf_export,
    .whole_lines = gf_cuda_whole_lines,
    .stream_create = gf_cuda_stream_create,
    .stream_destroy = gf_cuda_stream_destroy,
    .copy = gf_cuda_copy,
    .fill = gf_cuda_fill,
    .stream_query = gf_cuda_stream_query,
    .stream_sync = gf_cuda_stream_sync,
    .device_sync = gf_cuda_device_sync,
    .device_query = gf_cuda_device_query,
    .launch = gf_cuda_launch,
    .close = device_close,
};

static const struct gf_driver_ops driver_ops = {
    .name = "cuda",
    .pointer = gf_cuda_pointer,
    .device_count = device_count,
    .device_open = device_open,
};

/* A process has one CUDA driver, as libcuda itself is one. Written under `once` only. */
static struct {
    pthread_once_t once;
    struct gf_cuda_driver driver;
    gf_status status;
    struct gf_reason why;
} process = { .once = PTHREAD_ONCE_INIT };

static void process_load(void)
{
    process.driver.base.ops = &driver_ops;
    pthread_mutex_init(&process.driver.lock, NULL);
    gf_fd_server_init(&process.driver.server, gf_cuda_fd_give, &process.driver);
    process.status = gf_cuda_load(&process.driver.api, &process.why);
    if (process.status == GF_OK &&
        getrandom(&process.driver.base.process, sizeof process.driver.base.process, 0)
            != (ssize_t)sizeof process.driver.base.process) {
        gf_reason_set(&process.why, "getrandom gives no identity for this process");
        process.status = GF_ERR_SYSTEM;
    }
}

gf_status gf_cuda_driver_get(gf_driver **driver, struct gf_reason *why)
{
    pthread_once(&process.once, process_load);
    if (process.status != GF_OK) {
        gf_reason_set(why, "%s", process.why.text);
        return process.status;
    }
    *driver = &process.driver.base;
    return GF_OK;
}

bool gf_cuda_available(struct gf_reason *why)
{
    if (!gf_cuda_gpu_present("")) {
        gf_reason_set(why, "there is no NVIDIA GPU here: neither /dev/nvidia* nor /proc/driver/nvidia/gpus has one");
        return false;
    }
    gf_driver *driver;
    return gf_cuda_driver_get(&driver, why) == GF_OK;
}
