/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This process's buffers that others map. Making an IPC handle takes 20 µs and more, so they are kept by buffer id, which a later
 * allocation at the same address does not have. So is a refusal, with its sentence.
 *
 * And others learn what of it has been freed, for CUDA gives memory back when its last mapping is closed: each large buffer has a
 * word in shared memory that is the buffer's id until it is freed. Nobody tells us of that, so the driver is asked now and then
 * whose address it is: 150 ns a buffer. Only of large ones: CUDA takes memory from the system in pieces of 2 MiB that smaller
 * allocations share.
 */
#ifndef GF_CORE_EXPORTS_H
#define GF_CORE_EXPORTS_H

#include <pthread.h>
#include <stdint.h>

#include "core/buffer.h"
#include "core/segment.h"

enum { GF_EXPORTS = 256, GF_EXPORTS_WHY = 176, GF_EXPORTS_LARGE = 2 << 20, GF_EXPORTS_WATCHED = 512 };

/* One a process and device. A handle holds nothing, so that a newer one just takes the place of an older one. Any thread. */
struct gf_exports {
    gf_device *device;
    pthread_mutex_t lock;          /* guards what follows */
    struct gf_segment segment;     /* the words, uint64_t[GF_EXPORTS_WATCHED]; made with the first large buffer */
    struct gf_segment_name name;
    struct gf_watched {
        uint64_t id;               /* as its word; 0: none. A word is another buffer's only when the one before was freed */
        const void *base;
    } watched[GF_EXPORTS_WATCHED];
    struct gf_export {
        uint64_t buffer_id;        /* 0: none */
        bool refused;
        union {
            struct gf_buffer buffer;
            char why[GF_EXPORTS_WHY];      /* where it was refused */
        };
    } entries[GF_EXPORTS];
};

/* *exports is zeroed. The device outlives it. */
void gf_exports_init(struct gf_exports *exports, gf_device *device);
void gf_exports_destroy(struct gf_exports *exports);

/* Describes the allocation that pointer tells of, which is device memory. by_fd: also where only a file descriptor shares it; the
 * same in all calls. GF_ERR_UNSUPPORTED with a sentence: this memory cannot be mapped by others, or only by a descriptor. */
gf_status gf_exports_get(struct gf_exports *exports, const struct gf_pointer *pointer, bool by_fd, struct gf_buffer *buffer,
                         struct gf_reason *why);

/* Now and then: looks what has been freed, and clears its words. */
void gf_exports_look(struct gf_exports *exports);

#endif
