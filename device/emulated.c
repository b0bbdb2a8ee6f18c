/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated driver: behaves like a GPU's to everything above, without one. Options: emulated_options.h.
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "device/drivers.h"
#include "device/emulated_ipc.h"
#include "device/emulated_state.h"

static const struct gf_driver_ops driver_ops;

/* See emulated_state.h for why there is one. */
static struct gf_emulated emulated = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Around a fork, so that the child finds the tables whole: it may still ask what a pointer is. */
static void before_fork(void)
{
    pthread_mutex_lock(&emulated.memory->lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&emulated.memory->lock);
}

static void after_fork_in_child(void)
{
    atomic_store(&emulated.forked, true);
    pthread_mutex_unlock(&emulated.memory->lock);
}

gf_status gf_emulated_check_process(struct gf_emulated *self, struct gf_reason *why)
{
    if (!atomic_load_explicit(&self->forked, memory_order_relaxed)) {
        return GF_OK;
    }
    gf_reason_set(why, "this process was forked after the device was opened and cannot use it: run another program (exec), "
                  "or open the device after the fork");
    return GF_ERR_DEVICE;
}

bool gf_emulated_available(struct gf_reason *why)
{
    (void)why;
    return true;
}

static gf_status make_driver(struct gf_reason *why)
{
    gf_status status = gf_emulated_options_parse(getenv("GPUFIFO_EMULATED"), &emulated.options, why);
    if (status != GF_OK) {
        return status;
    }
    status = gf_emulated_memory_create(emulated.options.memory, &emulated.memory, why);
    if (status != GF_OK) {
        return status;
    }
    emulated.memory->gpu = emulated.options.gpu;
    emulated.memory->lingering = emulated.options.lingering;
    gf_emulated_ipc_init(emulated.memory);
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
        gf_emulated_memory_destroy(emulated.memory);
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    if (getrandom(&emulated.driver.process, sizeof emulated.driver.process, 0) != (ssize_t)sizeof emulated.driver.process) {
        gf_emulated_memory_destroy(emulated.memory);
        gf_reason_set(why, "getrandom gives no identity for this process");
        return GF_ERR_SYSTEM;
    }
    emulated.driver.ops = &driver_ops;
    return GF_OK;
}

gf_status gf_emulated_driver_get(gf_driver **driver, struct gf_reason *why)
{
    gf_status status = gf_emulated_check_process(&emulated, why);

    *driver = NULL;
    if (status != GF_OK) {
        return status;
    }
    pthread_mutex_lock(&emulated.lock);
    status = emulated.driver.ops ? GF_OK : make_driver(why);
    pthread_mutex_unlock(&emulated.lock);
    if (status == GF_OK) {
        *driver = &emulated.driver;
    }
    return status;
}

static gf_status query_pointer(gf_driver *driver, const void *address, struct gf_pointer *info)
{
    (void)driver;
    gf_emulated_memory_query(emulated.memory, address, info);
    info->ipc = info->ipc && !emulated.options.noipc;
    return GF_OK;
}

static int count_devices(gf_driver *driver)
{
    (void)driver;
    return 1;
}

/* The same for all processes that share this kernel, if they have the same GPU: its boot id, marked so that it is no GPU's. */
static void read_uuid(unsigned char uuid[16], int gpu)
{
    const unsigned char mark[5] = {'g', 'f', 'e', 'm', (unsigned char)gpu};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    int digits = 0, c;

    memset(uuid, 0, 16);
    while (file && digits < 32 && (c = getc(file)) != EOF) {
        if (isxdigit(c)) {
            int value = isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
            uuid[digits / 2] = (unsigned char)(uuid[digits / 2] << 4 | value);
            digits++;
        }
    }
    if (file) {
        fclose(file);
    }
    memcpy(uuid, mark, sizeof mark);
}

static gf_status make_device(struct gf_reason *why)
{
    gf_status status = gf_emulated_queues_init(&emulated.queues, &emulated.options, why);
    if (status != GF_OK) {
        return status;
    }
    emulated.queues_live = true;
    emulated.device = (gf_device){
        .ops = &gf_emulated_device_ops,
        .driver = &emulated.driver,
        .ordinal = 0,
        .caps = {
            .ipc = !emulated.options.noipc,
            .concurrent_processes = !emulated.options.solo,
            .line128_atomic = !emulated.options.torn,
            .host_types = true,
            .copies_beside_kernels = !emulated.options.queued,
            .on_host_cores = true,
            .blocks = emulated.options.blocks,
            .numa_node = -1,
        },
    };
    read_uuid(emulated.device.caps.uuid, emulated.options.gpu);
    return GF_OK;
}

static gf_status open_device(gf_driver *driver, int ordinal, gf_device **device, struct gf_reason *why)
{
    gf_status status = gf_emulated_check_process(&emulated, why);

    (void)driver;
    *device = NULL;
    if (status != GF_OK) {
        return status;
    }
    if (ordinal != 0 && ordinal != -1) {
        gf_reason_set(why, "there is no emulated device %d: the only one is 0", ordinal);
        return GF_ERR_INVALID;
    }
    pthread_mutex_lock(&emulated.lock);
    status = emulated.queues_live ? GF_OK : make_device(why);
    if (status == GF_OK) {
        emulated.opens++;
        *device = &emulated.device;
    }
    pthread_mutex_unlock(&emulated.lock);
    return status;
}

void gf_emulated_close(gf_device *device)
{
    struct gf_emulated *self = gf_emulated_of(device);

    if (gf_emulated_check_process(self, NULL) != GF_OK) {
        return;
    }
    pthread_mutex_lock(&self->lock);
    if (--self->opens == 0 && !self->queues.streams) {
        gf_emulated_queues_clear(&self->queues);
        self->queues_live = false;
    }
    pthread_mutex_unlock(&self->lock);
}

static const struct gf_driver_ops driver_ops = {
    .name = "emulated",
    .pointer = query_pointer,
    .device_count = count_devices,
    .device_open = open_device,
};
