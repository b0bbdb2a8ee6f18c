/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated copy engine. Addresses are kernel addresses.
 */
#ifndef GF_DEVICE_EMULATED_COPY_H
#define GF_DEVICE_EMULATED_COPY_H

#include <stddef.h>

#include "device/emulated_stream.h"

/* Queue the work; the memory must stay until it is done. GF_ERR_NO_MEMORY: host memory is exhausted, nothing was queued.
 * waits: for the kernels of this process that run, as a copy within a device does under the option "queued". As on a GPU, nothing
 * is said about the order in which the bytes arrive, but aligned words of 4 and 8 bytes that are copied alone arrive whole. */
gf_status gf_emulated_copy(gf_stream *stream, void *to, const void *from, size_t bytes, bool waits);
gf_status gf_emulated_fill(gf_stream *stream, void *to, int byte, size_t bytes);

#endif
