/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory of ours that is kept between calls: the lists of datatypes, and data that were packed or will be unpacked. To
 * make it anew would cost more than what it is for, and to give it back to the driver waits for all that the device does.
 *
 * Threads: any, but for create and destroy.
 */
#ifndef GF_MCA_DEVICE_MEMORY_H
#define GF_MCA_DEVICE_MEMORY_H

#include "device/device.h"

/* Of what is idle so much is kept; of more, that which was not used for longest goes back to the driver. */
#define GF_DEVICE_KEEP_BYTES ((size_t)256 << 20)

struct gf_device_memory;               /* one a device */

/* One allocation; its user has it until free, and writes nothing here. */
struct gf_device_piece {
    void *address;                     /* user address, aligned to 256 bytes */
    size_t bytes;                      /* at least as many as asked for */
    struct gf_device_piece *next, *previous;   /* of all, newest first, or of the idle, last used first */
};

/* Null: no host memory. destroy: gives all of it back, also what is in use. Accepts null. */
struct gf_device_memory *gf_device_memory_create(gf_device *device);
void gf_device_memory_destroy(struct gf_device_memory *memory);

/* At least `bytes`, contents undefined. Where the device has none left, what is idle makes room. */
gf_status gf_device_memory_alloc(struct gf_device_memory *memory, size_t bytes, struct gf_device_piece **piece,
                                 struct gf_reason *why);
/* The device is done with it. */
void gf_device_memory_free(struct gf_device_memory *memory, struct gf_device_piece *piece);

/* Bytes that are in use, and idle. */
void gf_device_memory_count(struct gf_device_memory *memory, size_t *used, size_t *idle);

#endif
