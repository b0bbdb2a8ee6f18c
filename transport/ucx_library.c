/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens libucp.so.0 at run time.
 */
#include "transport/ucx_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(name) { #name, offsetof(struct gf_ucx_library, name) },
    GF_UCX_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

gf_status gf_ucx_load(struct gf_ucx_library *ucx, struct gf_reason *why)
{
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        gf_reason_set(why, "UCX is not to be had here (%s): install it (Debian and Ubuntu: libucx0)", dlerror());
        return GF_ERR_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *function = dlsym(library, symbols[i].name);

        if (function == NULL) {
            gf_reason_set(why, "this UCX has no %s: gpufifo needs UCX 1.12 or newer, and was built with %d.%d",
                          symbols[i].name, UCP_API_MAJOR, UCP_API_MINOR);
            dlclose(library);
            return GF_ERR_UNSUPPORTED;
        }
        memcpy((char *)ucx + symbols[i].offset, &function, sizeof function);
    }
    return GF_OK;
}

gf_status gf_ucx_status(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return GF_OK;
    case UCS_ERR_NO_MEMORY:
        return GF_ERR_NO_MEMORY;
    case UCS_ERR_INVALID_PARAM:
        return GF_ERR_INVALID;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_UNSUPPORTED:
    case UCS_ERR_NOT_IMPLEMENTED:
    case UCS_ERR_NO_DEVICE:
        return GF_ERR_UNSUPPORTED;
    default:
        return GF_ERR_PEER;
    }
}
