/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds a driver by its name.
 */
#include "config.h"

#include <string.h>

#include "device/drivers.h"

struct kind {
    const char *name;
    bool (*available)(struct gf_reason *why);
    gf_status (*get)(gf_driver **driver, struct gf_reason *why);
};

#ifndef HAVE_CUDA_H
static bool cuda_available(struct gf_reason *why)
{
    gf_reason_set(why, "this gpufifo was built without CUDA: install cuda.h and configure it with --with-cuda=DIR");
    return false;
}

static gf_status cuda_get(gf_driver **driver, struct gf_reason *why)
{
    *driver = NULL;
    cuda_available(why);
    return GF_ERR_UNSUPPORTED;
}
#endif

static const struct kind kinds[] = {
#ifdef HAVE_CUDA_H
    { "cuda", gf_cuda_available, gf_cuda_driver_get },
#else
    { "cuda", cuda_available, cuda_get },
#endif
    { "emulated", gf_emulated_available, gf_emulated_driver_get },
};

static const struct kind *find(const char *name, struct gf_reason *why)
{
    for (size_t i = 0; name && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return &kinds[i];
        }
    }
    gf_reason_set(why, "there is no device kind \"%s\": use \"cuda\" or \"emulated\"", name ? name : "(null)");
    return NULL;
}

bool gf_driver_available(const char *name, struct gf_reason *why)
{
    const struct kind *kind = find(name, why);
    return kind && kind->available(why);
}

gf_status gf_driver_open(const char *name, gf_driver **driver, struct gf_reason *why)
{
    *driver = NULL;
    const struct kind *kind = find(name, why);
    return kind ? kind->get(driver, why) : GF_ERR_INVALID;
}
