/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of other processes that is mapped here: opening a mapping takes 150 µs and more, so it is kept for the next message
 * from the same buffer, until room is needed or its owner turns out to have freed it.
 *
 * One table a process and device for all that map memory of peers: messages (core/pull.h), registries (core/registry.h) and
 * transports. CUDA may refuse (CUDA_ERROR_ALREADY_MAPPED) what lies where something lay that its owner has freed and that is
 * mapped here still; so a mapping that is kept for one of them may have to go for another.
 *
 * A buffer id is never used again in its process, so a mapping is never taken for that of a newer buffer at the same address.
 * The older mapping is *stale*, and keeps memory from being used that its owner has freed: the owner tells (core/exports.h), and
 * whoever maps a newer buffer at its place finds out.
 *
 * Closing a mapping waits for all kernels of this process, and while it waits CUDA lets no thread launch or copy anything. If one
 * of them is the program's and waits for a message, that is for ever. So what is not wanted any more is closed when no kernel of
 * this process runs (gf_device_query), be that at once or at a later look. Nobody waits for that: while something is in the way,
 * messages and calls have other paths.
 *
 * Threads: any, at any time; a lock guards the table. It is held while a mapping is opened or closed, and so for as long as that
 * takes. What a mapping says of itself does not change while it is in use.
 */
#ifndef GF_CORE_IMPORTS_H
#define GF_CORE_IMPORTS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bootstrap.h"
#include "core/buffer.h"
#include "core/exports.h"

enum {
    GF_IMPORTS_IDLE = 256,         /* mappings that are kept though nobody uses them */
    GF_IMPORTS_MOST = 1024,        /* mappings, of which some may wait to be closed */
    GF_IMPORTS_BUCKETS = 128
};

/* One mapping. Owned by the table; who uses it has counted itself. */
struct gf_import {
    struct gf_import *next;        /* in its bucket */
    uint64_t process;              /* of the owner: gf_driver.process there */
    uint64_t buffer_id, base, size;
    char *address;                 /* user address of the start of the allocation; null: closed while it was held */
    char *kernel_address;
    const uint64_t *word;          /* the owner's, the buffer's id until it is freed; null: it has none */
    uint64_t last_use;             /* the table's turn when its last use ended */
    bool same_device;              /* as the one that maps */
    bool stale;                    /* its owner has freed the buffer */
    bool unwanted;                 /* is closed when nobody uses it any more */
    uint32_t uses, held;           /* of the uses so many are holds */
};

/* The contents are the table's own; tests read them. */
struct gf_imports {
    gf_device *device;
    struct gf_exports exports;     /* the other direction: what others map of this process's memory */
    pthread_mutex_t lock;          /* guards what follows, and what changes in a mapping */
    struct gf_import *buckets[GF_IMPORTS_BUCKETS];
    struct gf_import_words *words; /* of owners */
    size_t count, idle;            /* mappings; those of them that are kept for later */
    uint64_t turn;
};

/* Of that device, which outlives it. */
gf_status gf_imports_create(gf_device *device, struct gf_imports **imports, struct gf_reason *why);

/* Unmaps all, in use or not. Accepts null. */
void gf_imports_destroy(struct gf_imports *imports);

/* The mapping of the allocation of that process, with one more use. GF_NO_RESOURCE: what is in the way cannot be closed now; come
 * again, or take another path. */
gf_status gf_imports_get(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer, struct gf_import **import,
                         struct gf_reason *why);

/* The same for those who can wait: comes again, with the owner's progress in between, for a second at most. No GF_NO_RESOURCE. */
gf_status gf_imports_await(struct gf_imports *imports, uint64_t process, const struct gf_buffer *buffer,
                           const struct gf_bootstrap *bootstrap, struct gf_import **import, struct gf_reason *why);

/* One more use of one that is in use. */
void gf_imports_share(struct gf_imports *imports, struct gf_import *import);

/* One use less. What nobody uses is kept, GF_IMPORTS_IDLE mappings at most. import may be null. */
void gf_imports_put(struct gf_imports *imports, struct gf_import *import);

/* The same, and the mapping is not wanted any more: it is closed after its last use, which may be this one. */
void gf_imports_drop(struct gf_imports *imports, struct gf_import *import);

/* Makes a hold of one use: the mapping is there for later, and no work of the device uses it once its owner may free the buffer.
 * So it may be closed when it is stale. A hold ends by gf_imports_release, which else is like drop. */
void gf_imports_hold(struct gf_imports *imports, struct gf_import *import);
void gf_imports_release(struct gf_imports *imports, struct gf_import *import);

/* Now and then: closes what is not wanted any more, or was freed by its owner, if no kernel runs. */
void gf_imports_look(struct gf_imports *imports);

#endif
