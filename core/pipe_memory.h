/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a source shares with its sinks: see core/pipe.h for the life of an entry.
 */
#ifndef GF_CORE_PIPE_MEMORY_H
#define GF_CORE_PIPE_MEMORY_H

#include <stdint.h>

#include "core/pipe.h"
#include "kernels/work.h"

/* The state word: below, the state; above, the generation, so that a late look at an earlier use never matches. */
enum gf_pipe_state { GF_PIPE_FREE, GF_PIPE_OFFERED, GF_PIPE_WANTED, GF_PIPE_DONE, GF_PIPE_FAILED };

static inline uint64_t gf_pipe_word(uint32_t generation, enum gf_pipe_state state) { return (uint64_t)generation << 8 | state; }

#define GF_PIPE_BROKEN UINT64_MAX      /* in tail: the sender has failed, nothing more will come */

/* The first line is the sender's but for the state, the second one the receiver's. Chunk i of a message lies in slot
 * slots[i % GF_PIPE_DEPTH] from `tail > i` until `head > i`; slots is written before tail is published. */
struct gf_pipe_entry {
    uint64_t state;
    uint64_t bytes, chunk_bytes;       /* written before OFFERED */
    uint64_t tail;                     /* chunks that were filled */
    uint16_t slots[GF_PIPE_DEPTH];
    char apart[GF_LINE - 32 - 2 * GF_PIPE_DEPTH];
    uint64_t head;                     /* chunks that were emptied */
    uint64_t wanted;                   /* bytes, written before WANTED; fewer where the message is truncated */
    int32_t taker;                     /* its process */
    int32_t failure;                   /* a gf_status, written before FAILED; GF_OK: the process has ended */
    char apart_too[GF_LINE - 24];
};
_Static_assert(sizeof(struct gf_pipe_entry) == 2 * GF_LINE, "sender and receiver do not share a line");

#define GF_PIPE_MAGIC 0x67666f7069706531ull

enum { GF_PIPE_ENTRIES = 255, GF_PIPE_HEADER_BYTES = 65536 };

/* The slots follow after GF_PIPE_HEADER_BYTES. */
struct gf_pipe_memory {
    uint64_t magic;                    /* tells a version */
    uint64_t slot_bytes, slots;
    char apart[2 * GF_LINE - 24];
    struct gf_pipe_entry entries[GF_PIPE_ENTRIES];
};
_Static_assert(sizeof(struct gf_pipe_memory) == GF_PIPE_HEADER_BYTES, "slots begin on a page");

static inline char *gf_pipe_slot(struct gf_pipe_memory *memory, uint32_t slot)
{
    return (char *)memory + GF_PIPE_HEADER_BYTES + slot * memory->slot_bytes;
}

static inline uint64_t gf_pipe_chunks(uint64_t bytes, uint64_t chunk_bytes) { return (bytes + chunk_bytes - 1) / chunk_bytes; }

/* The length of chunk i. */
static inline size_t gf_pipe_chunk_length(uint64_t bytes, uint64_t chunk_bytes, uint64_t i)
{
    uint64_t rest = bytes - i * chunk_bytes;

    return (size_t)(rest < chunk_bytes ? rest : chunk_bytes);
}

/* One look at the other side's life every half second, from a function that is called often. */
struct gf_pipe_watch {
    uint32_t calls;
    uint64_t looked_ns;
};
bool gf_pipe_watch_due(struct gf_pipe_watch *watch);
bool gf_pipe_process_lives(int32_t pid);

#endif
