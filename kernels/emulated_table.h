/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the gcc build, for the emulated device. A launch of `blocks` blocks of `threads` threads is
 *     struct gf_block *b = gf_block_create(threads, weak, seed);           once for each block
 *     gf_block_run(b, kernel, block, blocks, thread, work);                from `threads` host threads at once
 *     gf_block_destroy(b);                                                 when all of them have returned
 * A block may be used for one launch after the other.
 */
#ifndef GF_KERNELS_EMULATED_TABLE_H
#define GF_KERNELS_EMULATED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/emulated_block.h"
#include "kernels/work.h"

struct gf_team;

/* One thread's part of a kernel. work: the work item that the name in enum gf_kernel tells. */
typedef void (*gf_emulated_kernel)(const struct gf_team *team, const void *work);

extern const gf_emulated_kernel gf_emulated_kernels[GF_KERNEL_COUNT];

/* Runs thread `thread` of block number `block` of `blocks`, and returns when this thread is done; its stores have then taken
 * effect. All blocks of a launch, and all kernels that wait for one another, must be able to run at once. */
void gf_block_run(struct gf_block *shared, enum gf_kernel kernel, uint32_t block, uint32_t blocks, uint32_t thread,
                  const void *work);

#endif
