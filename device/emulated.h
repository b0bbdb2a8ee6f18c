/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the emulated device offers beyond gf_device: running a function of the program as if it were a kernel.
 */
#ifndef GF_DEVICE_EMULATED_H
#define GF_DEVICE_EMULATED_H

#include <stdbool.h>

#include "device/device.h"

bool gf_device_is_emulated(const gf_device *device);

/* Queues function(argument) on a stream of the emulated device. It may touch memory through kernel addresses only, and must
 * not call gpufifo for the same stream. GF_ERR_UNSUPPORTED on other devices. */
gf_status gf_emulated_run(gf_device *device, gf_stream *stream, void (*function)(void *argument), void *argument,
                          struct gf_reason *why);

#endif
