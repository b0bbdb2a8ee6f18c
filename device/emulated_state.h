/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated driver and its one device, as the two files that implement them (emulated.c, emulated_device.c) share them.
 */
#ifndef GF_DEVICE_EMULATED_STATE_H
#define GF_DEVICE_EMULATED_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "device/emulated_memory.h"
#include "device/emulated_options.h"
#include "device/emulated_stream.h"

/* The process has one: pointers into its memory are valid until exit, as a GPU's are. lock guards the making of the driver, and
 * opens; the rest is fixed once a driver or a device was handed out. */
struct gf_emulated {
    pthread_mutex_t lock;
    gf_driver driver;                          /* ops is null until the driver is there */
    gf_device device;
    struct gf_emulated_options options;
    struct gf_emulated_memory *memory;
    struct gf_emulated_queues queues;
    bool queues_live;
    int opens;
    _Atomic bool forked;                       /* this is a forked child: it has the addresses, but no threads */
};

static inline struct gf_emulated *gf_emulated_of(gf_device *device)
{
    return (struct gf_emulated *)((char *)device - offsetof(struct gf_emulated, device));
}

/* As on a GPU, a child of fork may run another program, but not use the device: GF_ERR_DEVICE there. */
gf_status gf_emulated_check_process(struct gf_emulated *self, struct gf_reason *why);

/* Takes back one open. The memory stays. The threads end with the last close, unless someone still holds a stream. */
void gf_emulated_close(gf_device *device);

extern const struct gf_device_ops gf_emulated_device_ops;

#endif
