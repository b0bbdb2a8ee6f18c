/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The block that was given last and will do, so that few come again and again.
 */
#include "tests/mpi/stage_memory.h"

enum { KEPT_BYTES = 1 << 16 };      /* at least, of a block that may be kept: most calls do with so many */

struct stage_block stage_memory_take(struct harness *h, struct stage_store *store, enum gpufifo_memory kind, size_t bytes)
{
    struct stage_block block = {.kind = kind, .bytes = bytes};
    void *address;

    for (int i = store ? store->count - 1 : -1; i >= 0; i--) {
        if (store->kept[i].kind == kind && store->kept[i].bytes >= bytes) {
            block = store->kept[i];
            store->kept[i] = store->kept[--store->count];
            return block;
        }
    }
    block.bytes = store && bytes < KEPT_BYTES ? KEPT_BYTES : bytes;
    harness_need(h, gpufifo_alloc(h->device, kind, block.bytes, &address), "alloc");
    block.address = address;
    return block;
}

void stage_memory_give(struct harness *h, struct stage_store *store, const struct stage_block *block, bool keep)
{
    if (store && keep && store->count < STAGE_KEPT) {
        store->kept[store->count++] = *block;
    } else {
        harness_need(h, gpufifo_free(h->device, block->address), "free");
    }
}

void stage_store_clear(struct harness *h, struct stage_store *store)
{
    while (store->count > 0) {
        stage_memory_give(h, NULL, &store->kept[--store->count], false);
    }
}

void *stage_memory_poison(struct harness *h, enum gpufifo_memory kind)
{
    struct stage_block block = stage_memory_take(h, NULL, kind, 4096);

    stage_memory_give(h, NULL, &block, false);
    return block.address;
}
