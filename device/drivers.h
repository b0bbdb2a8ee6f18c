/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of driver that this library was built with. driver.c looks them up by name; nobody else calls these.
 *
 * Of each kind: `available` answers gf_driver_available, `get` gives the process's one driver of that kind
 * (gf_driver_open), any thread, any number of times. A driver's device_open takes ordinal -1 for the calling
 * thread's current device, 0 where it has none.
 */
#ifndef GF_DEVICE_DRIVERS_H
#define GF_DEVICE_DRIVERS_H

#include <stdbool.h>

#include "device/device.h"

/* Can it be used here? If not, *why. Then get gives the process's one driver, which is never freed. Any thread. */
bool gf_emulated_available(struct gf_reason *why);
gf_status gf_emulated_driver_get(gf_driver **driver, struct gf_reason *why);

/* Built only where cuda.h was found (HAVE_CUDA_H). */
bool gf_cuda_available(struct gf_reason *why);
gf_status gf_cuda_driver_get(gf_driver **driver, struct gf_reason *why);

#endif
