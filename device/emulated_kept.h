/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory that its process has freed while others have it mapped. As on a GPU it is not there for anything new before the
 * last of them has closed it: its addresses are, its bytes are not.
 *
 * Who maps an allocation holds a lock on a byte of the owner's memfd that stands for its buffer id, far behind the memory. So the
 * system gives it back when a process ends, however that comes. Such a lock belongs to an open file description: that of who maps
 * must be another one than the owner's.
 */
#ifndef GF_DEVICE_EMULATED_KEPT_H
#define GF_DEVICE_EMULATED_KEPT_H

#include <stddef.h>
#include <stdint.h>

/* Owned and locked by whoever holds it. Zeroed: nothing is kept. */
struct gf_kept {
    struct gf_kept_allocation {
        uint64_t buffer_id;
        size_t bytes;
    } *allocations;
    size_t count, room;
};

/* For who maps it: until the description is closed. */
void gf_kept_hold(int fd, uint64_t buffer_id);

/* An allocation has been freed: remembered if others have it mapped. fd: the owner's, as below. */
void gf_kept_add(struct gf_kept *kept, int fd, uint64_t buffer_id, size_t bytes);

/* Bytes that others have mapped still. */
size_t gf_kept_bytes(struct gf_kept *kept, int fd);

#endif
