/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits of the host that make the owner's progress meanwhile.
 */
#ifndef GF_CORE_HOST_WAIT_H
#define GF_CORE_HOST_WAIT_H

#include "core/host_executor.h"
#include "device/device.h"

/* Until all copies that were queued on the stream have ended. GF_ERR_DEVICE: one failed; or what the wait says: then they may
 * still be under way. */
gf_status gf_host_await_stream(gf_device *device, gf_stream *stream, const struct gf_host_wait *wait, struct gf_reason *why);

#endif
