/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for the buffers of calls, of any kind.
 */
#ifndef TESTS_MPI_STAGE_MEMORY_H
#define TESTS_MPI_STAGE_MEMORY_H

#include "tests/mpi/harness.h"

enum { STAGE_KEPT = 16 };

struct stage_block {
    enum gpufifo_memory kind;
    char *address;
    size_t bytes;
};

/* Blocks that wait to be used again, so that calls come with buffers that a peer has mapped already. Starts as zeros. */
struct stage_store {
    struct stage_block kept[STAGE_KEPT];
    int count;
};

/* At least so many bytes. store may be null: then always new memory. */
struct stage_block stage_memory_take(struct harness *h, struct stage_store *store, enum gpufifo_memory kind, size_t bytes);

/* keep: if the store has room; else it is freed. */
void stage_memory_give(struct harness *h, struct stage_store *store, const struct stage_block *block, bool keep);
void stage_store_clear(struct harness *h, struct stage_store *store);

/* An address that must not be touched: of freed memory of that kind. */
void *stage_memory_poison(struct harness *h, enum gpufifo_memory kind);

#endif
