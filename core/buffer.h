/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An allocation of device memory, as its owner tells other processes of it.
 */
#ifndef GF_CORE_BUFFER_H
#define GF_CORE_BUFFER_H

#include <stdint.h>

#include "core/segment.h"
#include "device/device.h"

/* Plain bytes: lies in shared memory and travels as it is. */
struct gf_buffer {
    uint64_t id;                   /* within the owner's process never used again; 0: none */
    uint64_t base, size;           /* as the owner sees it */
    struct gf_ipc_handle handle;   /* offset 0 */
    unsigned char uuid[16];        /* of its device */
    struct gf_segment_name words;  /* a segment of 64-bit words, of which number `word` is the id until the buffer is freed; */
    uint64_t word;                 /* zeros: nobody will tell */
};

#endif
