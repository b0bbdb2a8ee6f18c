/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for a stream.
 */
#include "core/host_wait.h"

gf_status gf_host_await_stream(gf_device *device, gf_stream *stream, const struct gf_host_wait *wait, struct gf_reason *why)
{
    for (;;) {
        gf_status status = gf_device_stream_query(device, stream);

        if (status == GF_OK) {
            return GF_OK;
        }
        if (status != GF_IN_PROGRESS) {
            gf_reason_set(why, "a copy between device and host failed: %s", gf_status_string(status));
            return GF_ERR_DEVICE;
        }
        status = wait->poll(wait->ctx, why);
        if (status != GF_OK) {
            return status;
        }
    }
}
