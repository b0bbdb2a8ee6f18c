/* SPDX-License-Identifier: BSD-3-Clause
 *
 * By which path the data of one device message moves, and why. Pure functions: the sender asks before it offers, the receiver
 * before it pulls.
 */
#ifndef GF_CORE_PULL_PLAN_H
#define GF_CORE_PULL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum gf_pull_path {
    GF_PULL_KERNEL,                /* the receiver's kernel loads from the sender's mapped memory */
    GF_PULL_COPY_ENGINE,           /* the receiver's copy engine does */
    GF_PULL_STAGE                  /* neither: the sender stages through host memory and the base PML */
};

/* Settings of a process, fixed before the first board or engine is made. */
struct gf_pull_config {
    size_t copy_engine_bytes;      /* from so many bytes on the copy engine takes over from the kernel, on one device */
    size_t peer_engine_bytes;      /* the same where the source is on another GPU */
    size_t host_kernel_bytes;      /* the same where the destination is host memory */
    size_t solo_bytes;             /* where kernels of several processes cannot run at once on the GPU that both ends share:
                                      staged below; from here on by kernel, into host memory by copy engine */
    size_t move_bytes;             /* an offer of up to so many bytes may be moved; at most GF_OFFER_SLOT_BYTES */
    uint32_t patience_us;          /* an offer is moved when nobody has taken it for so long */
    uint32_t start_us;             /* a kernel that has not ended after so long is cancelled where it has not started */
    uint32_t slices_us;            /* such a kernel has so much longer where processes take turns on the GPU */
    uint32_t blocks;               /* most blocks of one launch; 0: as many as the device runs at once of the largest */
    size_t block_bytes;            /* a block is worth launching for so many bytes */
    size_t share_bytes;            /* of one large message blocks take so many bytes at a time */
    size_t agent_bytes;            /* up to so many bytes the agent fetches a message, where one is there; 0: none */
    size_t burst_bytes;            /* what waits behind two launches is launched, too, when it is so much */
    bool by_fd;                    /* memory that only a file descriptor shares is offered, too */
};

/* What was measured to be best: by the table that is built in, and pull_plan.c. */
void gf_pull_config_default(struct gf_pull_config *config);

/* What a user asks for, whatever the size: kernels only where they reach both ends. */
enum gf_force_pull { GF_FORCE_PULL_AUTO, GF_FORCE_PULL_KERNEL, GF_FORCE_PULL_COPY_ENGINE };

/* Changes the sizes so; AUTO changes nothing. */
void gf_pull_config_force(struct gf_pull_config *config, enum gf_force_pull force);

/* That of a process: as its table tells by which path device memory reaches device memory at which sizes, and by default what the
 * table does not tell; then as forced. tuning: null: there is none but that which is built in. */
struct gf_tuning;
struct gf_pull_config gf_pull_config_of(const struct gf_tuning *tuning, enum gf_force_pull force);

/* What there is to know of a message and its ends. */
struct gf_pull_route {
    size_t bytes;
    bool same_device;              /* both buffers are on one GPU */
    bool concurrent;               /* caps.concurrent_processes of that GPU */
    bool to_device;                /* the destination is device memory */
};

/* The path of a message. Always one that can be had: GF_PULL_STAGE at worst. */
enum gf_pull_path gf_pull_choose(const struct gf_pull_config *config, const struct gf_pull_route *route);

/* The sentence to that choice, for verbose output; not for every message. */
void gf_pull_explain(const struct gf_pull_config *config, const struct gf_pull_route *route, struct gf_reason *reason);

/* The shape of one launch that moves so many bytes (the sum of its items, each rounded up to GF_LINE): see gf_pull_launch. */
struct gf_pull_shape {
    uint32_t blocks, threads;
    uint64_t share;                /* a multiple of GF_LINE */
};

/* device_blocks: that the device runs at once, at least 1. list: of several items, of
 * which each block takes one share. */
void gf_pull_shape_choose(const struct gf_pull_config *config, uint32_t device_blocks, uint64_t bytes, bool list,
                          struct gf_pull_shape *shape);

#endif
