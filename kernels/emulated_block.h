/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the host threads that play one block of the emulated device share: a barrier, and in weak mode the stores that no
 * other agent has seen yet.
 *
 * Weak mode. A store that another agent may see waits in the buffer of its thread and takes effect later, in random order;
 * a barrier moves it to the block's pool; a release first completes the thread's own buffer and the pool, which is
 * what a release after a barrier promises on a GPU. A thread that spins completes waiting stores one by one. Nothing else
 * orders them: a missing release, or a flag stored apart from its data, shows as wrong data.
 *
 * A line of GF_LINE bytes takes effect whole, as a warp's store does where the hardware lets it, unless the block tears lines.
 */
#ifndef GF_KERNELS_EMULATED_BLOCK_H
#define GF_KERNELS_EMULATED_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gf_block;

/* threads ≥ 1. weak: stores are delayed as above, in an order that depends on seed (and on thread timing where threads > 1).
 * Null without memory. Destroy it when no thread runs in it any more. */
struct gf_block *gf_block_create(uint32_t threads, bool weak, uint64_t seed);
void gf_block_destroy(struct gf_block *shared);

/* Memory that only its threads share, as a GPU's shared memory, of GF_BLOCK_MEMORY bytes. Its contents mean nothing when a
 * kernel begins. */
enum { GF_BLOCK_MEMORY = 68 * 1024 };
void *gf_block_memory(struct gf_block *shared);

/* What it was made with. */
uint32_t gf_block_threads(const struct gf_block *shared);
bool gf_block_is_weak(const struct gf_block *shared);

/* From now on the words of a line take effect one by one, the last one first. Call it before the block runs. */
void gf_block_tear_lines(struct gf_block *shared);

/* Waits for all threads of the block. `thread` is the caller's number. */
void gf_block_barrier(struct gf_block *shared, uint32_t thread);
bool gf_block_any(struct gf_block *shared, uint32_t thread, bool mine);

/* A store of 1 to 32 bytes that another agent may see; word: of 8 bytes at an aligned address, arrives whole. */
void gf_block_store(struct gf_block *shared, uint32_t thread, void *to, const void *value, uint32_t bytes);
void gf_block_store_word(struct gf_block *shared, uint32_t thread, uint64_t *to, uint64_t value);

/* A store of a whole line, GF_LINE aligned: who sees its last word (loaded first, as an acquire) sees the others. */
void gf_block_store_line(struct gf_block *shared, uint32_t thread, uint64_t *to, const uint64_t *words);

/* Before a release: completes what this thread stored and what it has seen at barriers. */
void gf_block_complete(struct gf_block *shared, uint32_t thread);

/* In a spin: lets other host threads run, and completes one of the waiting stores. */
void gf_block_pause(struct gf_block *shared, uint32_t thread);

#endif
