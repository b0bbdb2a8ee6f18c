/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of the emulated device. One reservation of addresses holds
 *
 *   device, user | imports, user | device, kernel | imports, kernel | pinned | managed
 *
 * Device memory is a sparse memfd. Its user addresses are never accessible; its kernel addresses, at a fixed distance, are
 * accessible while they are allocated. Imports are other processes' device memory, mapped the same way. Pinned and managed
 * memory is ordinary memory, the same for both sides.
 *
 * The page of the memfd behind an allocation's guard page says what is allocated there, so that another process notices a
 * handle to memory that was freed. Both are given back to the system on free; but as on a GPU there is no more room for other
 * device memory than before while another process has it mapped (emulated_kept.h).
 */
#ifndef GF_DEVICE_EMULATED_MEMORY_H
#define GF_DEVICE_EMULATED_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "device/emulated_arena.h"
#include "device/emulated_kept.h"
#include "device/emulated_registered.h"
#include "device/fd_server.h"

struct gf_import;                       /* emulated_ipc.c */

/* One a process; lives until exit, as pointers into it do. What is not guarded by the lock is fixed after creation. */
struct gf_emulated_memory {
    uintptr_t base;                     /* of the whole reservation */
    size_t bytes;
    size_t distance;                    /* from a user address to its kernel address, for device memory and imports */
    int fd;                             /* the memfd; offset 0 is the start of the device arena */
    uint64_t fd_inode, fd_device;
    size_t fd_bytes;
    int gpu;                            /* whose memory it is: a number, equal in processes that share the device */
    bool lingering;                     /* the option of that name */
    _Atomic uint64_t last_id;           /* buffer id given last */
    struct gf_registered registered;    /* read without the lock */
    struct gf_fd_server server;         /* hands out the memfd: emulated_ipc.c */

    pthread_mutex_t lock;               /* guards what follows, and writing to registered */
    struct gf_arena device, imports, pinned, managed;
    struct gf_import *first_import;
    struct gf_kept kept;
};

/* What stands in the memfd at the guard page of an allocation. */
struct gf_emulated_record {
    uint64_t magic;                     /* GF_EMULATED_RECORD while allocated */
    uint64_t buffer_id;
    uint64_t start;                     /* offset of the first byte in the memfd */
    uint64_t bytes;
    uint64_t gpu;                       /* gf_emulated_memory.gpu */
};
#define GF_EMULATED_RECORD 0x67662d616c6c6f63ull

/* bytes: of device memory, and of pinned and of managed; imports get four times that. */
gf_status gf_emulated_memory_create(size_t bytes, struct gf_emulated_memory **memory, struct gf_reason *why);
void gf_emulated_memory_destroy(struct gf_emulated_memory *memory);

/* kind: DEVICE, PINNED or MANAGED. bytes 0 gives null. Pinned memory is zeroed; device memory starts with a pattern that is
 * no sensible number, since on a GPU it may hold anything. */
gf_status gf_emulated_memory_alloc(struct gf_emulated_memory *memory, enum gf_memory_kind kind, size_t bytes, void **address,
                                   struct gf_reason *why);
/* Device memory as that allocator makes it: it lies where all does, but what others may do with it is kept with it. */
gf_status gf_emulated_memory_alloc_by(struct gf_emulated_memory *memory, enum gf_allocator allocator, size_t bytes,
                                      void **address, struct gf_reason *why);
/* Who made this memory of the process's own device; false if it is none. */
bool gf_emulated_memory_allocator(struct gf_emulated_memory *memory, const void *address, enum gf_allocator *allocator);
/* GF_ERR_INVALID if address is not what alloc of this kind gave. Null is fine. Nobody may be using it any more. */
gf_status gf_emulated_memory_free(struct gf_emulated_memory *memory, enum gf_memory_kind kind, void *address);

gf_status gf_emulated_memory_register(struct gf_emulated_memory *memory, void *address, size_t bytes, struct gf_reason *why);
gf_status gf_emulated_memory_unregister(struct gf_emulated_memory *memory, void *address);

/* As gf_driver_pointer; info->ipc is set for this process's own plain device memory. Host memory costs no lock. */
void gf_emulated_memory_query(struct gf_emulated_memory *memory, const void *address, struct gf_pointer *info);

/* Where the device's own code finds these bytes, all of one allocation or all host memory; null otherwise. */
void *gf_emulated_memory_reach(struct gf_emulated_memory *memory, const void *address, size_t bytes, enum gf_memory_kind *kind);

/* Reads the record of the allocation at this offset of a memfd; false if nothing is allocated there. */
bool gf_emulated_record_read(int fd, uint64_t start, struct gf_emulated_record *record);

#endif
