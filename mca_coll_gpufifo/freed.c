/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock of those looks.
 */
#include "mca_coll_gpufifo/freed.h"

#include <time.h>

#include "core/imports.h"
#include "mca_coll_gpufifo/module.h"
#include "transport/net_buffers.h"

#include "opal/runtime/opal_progress.h"

enum { INTERVAL_MS = 10 };

/* To some milliseconds, but for a few nanoseconds. */
static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* True for one thread every so often. */
static bool is_time(void)
{
    _Atomic uint64_t *looked = &mca_coll_gpufifo_component.freed_looked_ms;
    uint64_t last = atomic_load_explicit(looked, memory_order_relaxed), now = now_ms();

    return now - last >= INTERVAL_MS && atomic_compare_exchange_strong(looked, &last, now);
}

void gf_freed_look(void)
{
    if (!is_time()) {
        return;
    }
    struct gf_net *net = atomic_load_explicit(&mca_coll_gpufifo_component.message_net, memory_order_acquire);

    if (net) {
        gf_net_buffers_look(gf_net_buffers_of(net));
    }
    for (int i = 0; i < GF_MAX_DEVICES; i++) {
        struct gf_imports *imports = __atomic_load_n(&mca_coll_gpufifo_component.imports[i], __ATOMIC_ACQUIRE);
        struct gf_net *net = __atomic_load_n(&mca_coll_gpufifo_component.nets[i], __ATOMIC_ACQUIRE);

        if (imports) {
            gf_exports_look(&imports->exports);
            gf_imports_look(imports);
        }
        if (net) {
            gf_net_buffers_look(gf_net_buffers_of(net));
        }
    }
}

static int progress(void)
{
    gf_freed_look();
    return 0;
}

void gf_freed_watch(void)
{
    if (!mca_coll_gpufifo_component.freed_watched) {
        mca_coll_gpufifo_component.freed_watched = opal_progress_register_lp(progress) == OPAL_SUCCESS;
    }
}

void gf_freed_unwatch(void)
{
    if (mca_coll_gpufifo_component.freed_watched) {
        opal_progress_unregister(progress);
        mca_coll_gpufifo_component.freed_watched = false;
    }
}
