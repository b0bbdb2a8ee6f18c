/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory shared by processes of one node. Made of a memfd that peers open through /proc/<pid>/fd, so nothing is left
 * behind when a job is killed, and the size of /dev/shm does not matter. Where peers do not see each other's /proc
 * (containers with PID namespaces of their own), attach fails with GF_ERR_UNSUPPORTED and the caller takes another path.
 */
#ifndef GF_CORE_SEGMENT_H
#define GF_CORE_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Names a segment to another process of this host; plain bytes. */
struct gf_segment_name {
    int32_t pid, fd;
    uint64_t bytes, inode, device;      /* checked on attach: a recycled pid or fd is noticed */
};

struct gf_segment {
    void *address;                      /* null if not mapped */
    size_t bytes;                       /* as asked, rounded up to pages */
    int fd;                             /* the creator's; -1 in those who attached */
};

/* Creates zeroed memory, really reserved: GF_ERR_NO_MEMORY now rather than SIGBUS later. */
gf_status gf_segment_create(size_t bytes, struct gf_segment *segment, struct gf_segment_name *name, struct gf_reason *why);
gf_status gf_segment_attach(const struct gf_segment_name *name, struct gf_segment *segment, struct gf_reason *why);

/* Unmaps; the creator also closes its descriptor, after which nobody new can attach. Idempotent. */
void gf_segment_close(struct gf_segment *segment);

#endif
