/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading device memory by the processor, through NVIDIA's gdrcopy: a window onto it in this process's addresses. The library,
 * libgdrapi.so.2, is opened at run time, and declared here by what its documentation fixes: nothing is linked.
 *
 * Threads: all of it may be called by any thread; a window is one thread's at a time.
 */
#ifndef GF_TRANSPORT_GDRCOPY_H
#define GF_TRANSPORT_GDRCOPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { GF_GDRCOPY_PAGE = 1 << 16 };     /* bytes of the GPU's pages, whole ones of which are mapped */

struct gf_gdrcopy;

/* Zeroed: none. Owned by whoever mapped it. */
struct gf_gdrcopy_window {
    struct gf_gdrcopy *gdrcopy;
    unsigned long handle;
    uintptr_t first;               /* device address at which it begins: a whole page of the GPU's */
    size_t bytes;
    char *mapped;                  /* where the processor sees that */
};

/* GF_ERR_UNSUPPORTED with a sentence: the library, or its kernel module, is not there. */
gf_status gf_gdrcopy_open(struct gf_gdrcopy **gdrcopy, struct gf_reason *why);
/* All windows are unmapped. Accepts null. */
void gf_gdrcopy_close(struct gf_gdrcopy *gdrcopy);

/* The window stays until unmap, and must not outlive the memory. GF_ERR_UNSUPPORTED with a sentence: not this memory. */
gf_status gf_gdrcopy_map(struct gf_gdrcopy *gdrcopy, const void *address, size_t bytes, struct gf_gdrcopy_window *window,
                         struct gf_reason *why);
/* Idempotent. */
void gf_gdrcopy_unmap(struct gf_gdrcopy_window *window);

/* Reads a word at that device address, whose four bytes lie in what was mapped. GF_ERR_DEVICE with a sentence. */
gf_status gf_gdrcopy_read(const struct gf_gdrcopy_window *window, const void *at, struct gf_reason *why);

#endif
