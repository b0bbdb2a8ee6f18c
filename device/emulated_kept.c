/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks on bytes that are not there.
 */
#include "config.h"

#include "device/emulated_kept.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static struct flock lock_of(short type, uint64_t buffer_id)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(1ull << 62 | buffer_id), .l_len = 1};
}

/* Shared, so it is refused to nobody. */
void gf_kept_hold(int fd, uint64_t buffer_id)
{
    struct flock lock = lock_of(F_RDLCK, buffer_id);

    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

static bool is_held(int fd, uint64_t buffer_id)
{
    struct flock lock = lock_of(F_WRLCK, buffer_id);

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void gf_kept_add(struct gf_kept *kept, int fd, uint64_t buffer_id, size_t bytes)
{
    if (!is_held(fd, buffer_id)) {
        return;
    }
    if (kept->count == kept->room) {
        size_t room = kept->room ? 2 * kept->room : 16;
        struct gf_kept_allocation *allocations = realloc(kept->allocations, room * sizeof *allocations);

        if (!allocations) {
            return;
        }
        kept->allocations = allocations;
        kept->room = room;
    }
    kept->allocations[kept->count++] = (struct gf_kept_allocation){.buffer_id = buffer_id, .bytes = bytes};
}

size_t gf_kept_bytes(struct gf_kept *kept, int fd)
{
    size_t bytes = 0, left = 0;

    for (size_t i = 0; i < kept->count; i++) {
        if (is_held(fd, kept->allocations[i].buffer_id)) {
            bytes += kept->allocations[i].bytes;
            kept->allocations[left++] = kept->allocations[i];
        }
    }
    kept->count = left;
    return bytes;
}
