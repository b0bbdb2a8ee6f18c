/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A one-shot allreduce of little data by the agent: what a launch of one block does (kernels/allreduce.h), but what a rank sends
 * to one peer, and gets from it, is a thread's own: an entry, one item of one rank. So an item goes to all peers at once and
 * comes from all at once, where a launch, whose threads have an item each, does one after the other; and since nobody but the
 * threads of this block reads the entries, they meet in its own memory. Lines and slots are a launch's, since peers may launch.
 *
 * Two slots a peer suffice for the same reason as in a launch: the team meets between what it reads in this epoch and what it
 * stores in the next one.
 */
#ifndef GF_KERNELS_AGENT_FEW_H
#define GF_KERNELS_AGENT_FEW_H

#include "kernels/allreduce.h"

/* The least power of 2 that is not less than n, which is at least 2: its logarithm. */
GF_INLINE uint32_t gf_log2_up(uint32_t n)
{
#ifdef __CUDACC__
    return 32 - (uint32_t)__clz((int)(n - 1));
#else
    return 32 - (uint32_t)__builtin_clz(n - 1);
#endif
}

enum {
    GF_AGENT_ENTRIES = 2048,         /* 4 KiB of 8 ranks */
    GF_AGENT_ENTRIES_ALONE = 32      /* so many the leading threads do sooner than all threads can meet */
};

/* Entry e is item e modulo `items` rounded up to a power of 2, of rank e divided by it. */
struct gf_few {
    uint32_t bytes;
    uint32_t items;                  /* at least 1: also who has no data sends a line */
    uint32_t shift;                  /* log2 of the items rounded up */
    uint32_t entries;                /* 0: too many, or peers may do it in more blocks than one */
};

GF_INLINE struct gf_few gf_few_of(uint32_t bytes, uint32_t ranks, uint32_t blocks)
{
    struct gf_few few;
    few.bytes = bytes;
    few.items = bytes <= GF_ITEM_BYTES ? 1 : (bytes + GF_ITEM_BYTES - 1) / GF_ITEM_BYTES;
    few.shift = few.items == 1 ? 0 : gf_log2_up(few.items);
    few.entries = blocks == 1 && few.items <= GF_AGENT_ENTRIES && ranks << few.shift <= GF_AGENT_ENTRIES ? ranks << few.shift : 0;
    return few;
}

struct gf_few_entry {
    uint32_t item, rank;
    uint32_t bytes;                  /* of data in the item */
    bool valid;                      /* no rounding */
};

GF_INLINE struct gf_few_entry gf_few_entry(const struct gf_few *few, uint32_t e)
{
    struct gf_few_entry entry;
    entry.item = e & ((1u << few->shift) - 1);
    entry.rank = e >> few->shift;
    entry.valid = entry.item < few->items;
    uint32_t left = few->bytes - entry.item * GF_ITEM_BYTES;
    entry.bytes = left < GF_ITEM_BYTES ? left : GF_ITEM_BYTES;
    return entry;
}

/* Where the lines of this epoch lie in the two slots of any peer. */
GF_INLINE uint64_t gf_few_at(const struct gf_one_shot_work *work, uint32_t item)
{
    return gf_one_shot_slot(work, work->epoch) + item * GF_ITEM_LL_BYTES;
}

/* items: for each entry one, in the block's memory. */
GF_INLINE void gf_few_send(const struct gf_team *team, const struct gf_one_shot_work *work, const struct gf_few *few,
                           union gf_item *items)
{
    GF_ROLL
    for (uint32_t e = team->thread; e < few->entries; e += team->threads) {
        struct gf_few_entry entry = gf_few_entry(few, e);
        if (!entry.valid)
            continue;
        union gf_item own = gf_load_ragged((const char *)work->data.send + entry.item * GF_ITEM_BYTES, entry.bytes);
        if (entry.rank == work->task.rank)
            items[e] = own;
        else
            gf_store_ll_item(team, work->peers[entry.rank].to + gf_few_at(work, entry.item), own, gf_item_lines(entry.bytes),
                             gf_ll_flag(work->epoch));
    }
}

GF_INLINE enum gf_kernel_error gf_few_gather(const struct gf_team *team, const struct gf_one_shot_work *work,
                                             const struct gf_few *few, union gf_item *items)
{
    enum gf_kernel_error error = GF_KERNEL_OK;
    GF_ROLL
    for (uint32_t e = team->thread; e < few->entries && error == GF_KERNEL_OK; e += team->threads) {
        struct gf_few_entry entry = gf_few_entry(few, e);
        if (!entry.valid || entry.rank == work->task.rank)
            continue;
        const char *lines = work->peers[entry.rank].from + gf_few_at(work, entry.item);
        struct gf_wait wait = {0, 0};
        union gf_item item = {{0}};
        while (error == GF_KERNEL_OK && !gf_load_ll_item(lines, &item, gf_item_lines(entry.bytes), gf_ll_flag(work->epoch)))
            error = gf_wait_more(team, &work->task, &wait);
        items[e] = item;
    }
    return error;
}

GF_INLINE void gf_few_reduce(const struct gf_team *team, const struct gf_one_shot_work *work, const struct gf_few *few,
                             const union gf_item *items)
{
    GF_ROLL
    for (uint32_t i = team->thread; i < few->items; i += team->threads) {
        struct gf_few_entry entry = gf_few_entry(few, i);
        union gf_item result = gf_reduce_row((enum gf_type)work->data.type, (enum gf_op)work->data.op, items + i,
                                             1u << few->shift, work->task.ranks);
        gf_store_ragged(team, (char *)work->data.recv + i * GF_ITEM_BYTES, result, entry.bytes);
    }
}

/* A team, which may be the leading one; `few` has entries. Results may lie where the data were: all have been loaded when the
 * team meets. */
GF_INLINE void gf_few_allreduce(const struct gf_team *team, const struct gf_one_shot_work *work, const struct gf_few *few,
                                union gf_item *items)
{
    gf_few_send(team, work, few, items);
    enum gf_kernel_error error = gf_few_gather(team, work, few, items);
    if (GF_MUTANT != GF_MUTANT_EARLY_RESULT)
        gf_team_meet(team);
    if (error == GF_KERNEL_OK)
        gf_few_reduce(team, work, few, items);
    else
        gf_publish_error(team, work->task.error, error);
}

#endif
