/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libgdrapi.so.2 as a table of functions, and windows by it.
 */
#include "transport/gdrcopy.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct gdr_handle {
    unsigned long number;          /* the library's struct has this alone */
};

struct gf_gdrcopy {
    void *library, *state;
    void *(*gdr_open)(void);
    int (*gdr_close)(void *state);
    int (*gdr_pin_buffer)(void *state, unsigned long address, size_t bytes, uint64_t token, uint32_t space,
                          struct gdr_handle *handle);
    int (*gdr_unpin_buffer)(void *state, struct gdr_handle handle);
    int (*gdr_map)(void *state, struct gdr_handle handle, void **mapped, size_t bytes);
    int (*gdr_unmap)(void *state, struct gdr_handle handle, void *mapped, size_t bytes);
    int (*gdr_copy_from_mapping)(struct gdr_handle handle, void *to, const void *mapped, size_t bytes);
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(name) { #name, offsetof(struct gf_gdrcopy, name) }
    SYMBOL(gdr_open), SYMBOL(gdr_close), SYMBOL(gdr_pin_buffer), SYMBOL(gdr_unpin_buffer), SYMBOL(gdr_map), SYMBOL(gdr_unmap),
    SYMBOL(gdr_copy_from_mapping),
#undef SYMBOL
};

static gf_status load(struct gf_gdrcopy *gdrcopy, struct gf_reason *why)
{
    gdrcopy->library = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!gdrcopy->library) {
        gf_reason_set(why, "gdrcopy is not to be had here (%s): install libgdrapi and gdrdrv-dkms from NVIDIA's repository",
                      dlerror());
        return GF_ERR_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *function = dlsym(gdrcopy->library, symbols[i].name);

        if (!function) {
            gf_reason_set(why, "this libgdrapi.so.2 has no %s: gpufifo needs gdrcopy 2", symbols[i].name);
            return GF_ERR_UNSUPPORTED;
        }
        memcpy((char *)gdrcopy + symbols[i].offset, &function, sizeof function);
    }
    gdrcopy->state = gdrcopy->gdr_open();
    if (!gdrcopy->state) {
        gf_reason_set(why, "gdrcopy has no kernel module here: install gdrdrv-dkms from NVIDIA's repository, load gdrdrv, and "
                      "let this user open /dev/gdrdrv");
        return GF_ERR_UNSUPPORTED;
    }
    return GF_OK;
}

gf_status gf_gdrcopy_open(struct gf_gdrcopy **opened, struct gf_reason *why)
{
    struct gf_gdrcopy *gdrcopy = calloc(1, sizeof *gdrcopy);

    *opened = NULL;
    if (!gdrcopy) {
        gf_reason_set(why, "out of host memory");
        return GF_ERR_NO_MEMORY;
    }
    gf_status status = load(gdrcopy, why);

    if (status != GF_OK) {
        gf_gdrcopy_close(gdrcopy);
        return status;
    }
    *opened = gdrcopy;
    return GF_OK;
}

void gf_gdrcopy_close(struct gf_gdrcopy *gdrcopy)
{
    if (!gdrcopy) {
        return;
    }
    if (gdrcopy->state) {
        gdrcopy->gdr_close(gdrcopy->state);
    }
    if (gdrcopy->library) {
        dlclose(gdrcopy->library);
    }
    free(gdrcopy);
}

gf_status gf_gdrcopy_map(struct gf_gdrcopy *gdrcopy, const void *address, size_t bytes, struct gf_gdrcopy_window *window,
                         struct gf_reason *why)
{
    uintptr_t first = (uintptr_t)address / GF_GDRCOPY_PAGE * GF_GDRCOPY_PAGE;
    size_t whole = ((uintptr_t)address + bytes - first + GF_GDRCOPY_PAGE - 1) / GF_GDRCOPY_PAGE * GF_GDRCOPY_PAGE;
    struct gdr_handle handle;
    void *mapped = NULL;
    int error = gdrcopy->gdr_pin_buffer(gdrcopy->state, first, whole, 0, 0, &handle);

    *window = (struct gf_gdrcopy_window){ .gdrcopy = NULL };
    if (error != 0) {
        gf_reason_set(why, "gdrcopy cannot pin %zu bytes of device memory: gdr_pin_buffer says %d (%s)", bytes, error,
                      strerror(error));
        return GF_ERR_UNSUPPORTED;
    }
    error = gdrcopy->gdr_map(gdrcopy->state, handle, &mapped, whole);
    if (error != 0) {
        gf_reason_set(why, "gdrcopy cannot map %zu bytes of device memory: gdr_map says %d (%s)", bytes, error, strerror(error));
        gdrcopy->gdr_unpin_buffer(gdrcopy->state, handle);
        return GF_ERR_UNSUPPORTED;
    }
    *window = (struct gf_gdrcopy_window){
        .gdrcopy = gdrcopy, .handle = handle.number, .first = first, .bytes = whole, .mapped = mapped,
    };
    return GF_OK;
}

void gf_gdrcopy_unmap(struct gf_gdrcopy_window *window)
{
    struct gf_gdrcopy *gdrcopy = window->gdrcopy;
    struct gdr_handle handle = { window->handle };

    if (gdrcopy) {
        gdrcopy->gdr_unmap(gdrcopy->state, handle, window->mapped, window->bytes);
        gdrcopy->gdr_unpin_buffer(gdrcopy->state, handle);
    }
    *window = (struct gf_gdrcopy_window){ .gdrcopy = NULL };
}

gf_status gf_gdrcopy_read(const struct gf_gdrcopy_window *window, const void *at, struct gf_reason *why)
{
    uint32_t word;
    int error = window->gdrcopy->gdr_copy_from_mapping((struct gdr_handle){ window->handle }, &word,
                                                       window->mapped + ((uintptr_t)at - window->first), sizeof word);

    if (error != 0) {
        gf_reason_set(why, "gdrcopy cannot read device memory: gdr_copy_from_mapping says %d (%s)", error, strerror(error));
        return GF_ERR_DEVICE;
    }
    return GF_OK;
}
