/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table by which core meets the host-sequenced executor (proxy/host_sequenced.c): the host plays the next GPU with
 * copies and kernels that wait for nobody, for ranks whose kernels must not wait for one another (design, rule 9).
 */
#ifndef GF_CORE_HOST_EXECUTOR_H
#define GF_CORE_HOST_EXECUTOR_H

#include "base/types.h"
#include "core/bootstrap.h"
#include "core/config.h"
#include "device/device.h"

struct gf_host_wait {
    /* Called in every wait: makes progress, looks for dead peers and aborts; not GF_OK: leave with it. */
    gf_status (*poll)(void *ctx, struct gf_reason *why);
    void *ctx;
};

struct gf_host_executor {
    /* Collective: shares host memory among the ranks. *state is the executor's. */
    gf_status (*create)(const struct gf_config *config, const struct gf_bootstrap *bootstrap, gf_device *device,
                        gf_stream *stream, void **state, struct gf_reason *why);
    gf_status (*allreduce)(void *state, const void *send, void *recv, size_t count, enum gf_type type, enum gf_op op,
                           const struct gf_host_wait *wait, struct gf_reason *why);
    void (*destroy)(void *state);
};

#endif
