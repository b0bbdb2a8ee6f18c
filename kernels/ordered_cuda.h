/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The accesses of ordered.h in PTX. All addresses are global memory: of this GPU, of a peer, or pinned host memory.
 */
#ifndef GF_KERNELS_ORDERED_CUDA_H
#define GF_KERNELS_ORDERED_CUDA_H

GF_INLINE uint64_t gf_load_acquire64(const uint64_t *from)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

GF_INLINE uint64_t gf_load_relaxed64(const uint64_t *from)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

GF_INLINE uint32_t gf_load_relaxed32(const uint32_t *from)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

GF_INLINE void gf_store_release64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    (void)team;
    asm volatile("st.release.sys.global.u64 [%0], %1;" :: "l"(to), "l"(value) : "memory");
}

GF_INLINE void gf_store_relaxed64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    (void)team;
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" :: "l"(to), "l"(value) : "memory");
}

GF_INLINE void gf_store_relaxed32(const struct gf_team *team, uint32_t *to, uint32_t value)
{
    (void)team;
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" :: "l"(to), "r"(value) : "memory");
}

/* The stores of this thread, and what it has seen at barriers, reach the device's shared cache: there every later kernel
 * and every copy engine finds them, wherever they were stored to on this device. At device scope, since at system scope
 * it takes half a microsecond more, and the host reads device memory only through the device. */
GF_INLINE void gf_flush_device_writes(const struct gf_team *team)
{
    (void)team;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* The same for stores into host memory. */
GF_INLINE void gf_flush_host_writes(const struct gf_team *team)
{
    (void)team;
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* After gf_flush_device_writes. The host has nothing to read behind this word but what gf_flush_host_writes has covered. */
GF_INLINE void gf_store_release_to_host64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    gf_store_relaxed64(team, to, value);
}

/* Among the blocks of one launch, so at the scope of the GPU. */
GF_INLINE uint64_t gf_load_acquire_device64(const uint64_t *from)
{
    uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

GF_INLINE void gf_store_release_device64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    (void)team;
    asm volatile("st.release.gpu.global.u64 [%0], %1;" :: "l"(to), "l"(value) : "memory");
}

GF_INLINE uint32_t gf_add_acquire_release32(const struct gf_team *team, uint32_t *at, uint32_t value)
{
    uint32_t before;
    (void)team;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(value) : "memory");
    return before;
}

GF_INLINE uint64_t gf_add_relaxed64(const struct gf_team *team, uint64_t *at, uint64_t value)
{
    uint64_t before;
    (void)team;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(at), "l"(value) : "memory");
    return before;
}

/* Each of the two words is one eight-byte element of the vector and so arrives whole; the two may arrive apart. */
GF_INLINE void gf_store_words(const struct gf_team *team, void *to, uint64_t low, uint64_t high)
{
    (void)team;
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" :: "l"(to), "l"(low), "l"(high) : "memory");
}

GF_INLINE void gf_load_words(const void *from, uint64_t *low, uint64_t *high)
{
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(*low), "=l"(*high) : "l"(from) : "memory");
}

/* ---- lines of 128 bytes: eight lanes of a warp, two words each, by one instruction ----
 *
 * The lanes of a line act as one: what decides whether they go on must be equal in all of them. They meet right before the
 * store and the load, so that the warp issues these for all eight at once: then 128 aligned bytes are one transaction in the
 * shared cache and on NVLink. Neither CUDA nor PTX promises that: tests/gpu looks at it. */
enum { GF_LINE_LANES = 8, GF_LANE_WORDS = 2 };

struct gf_line_part {
    uint64_t words[GF_LANE_WORDS];
};

GF_INLINE uint32_t gf_line_mask(const struct gf_team *team)
{
    return 0xffu << (team->thread % 32 / GF_LINE_LANES * GF_LINE_LANES);
}

GF_INLINE void gf_lanes_meet(const struct gf_team *team)
{
    __syncwarp(gf_line_mask(team));
}

/* Do all lanes say so? */
GF_INLINE bool gf_lanes_all(const struct gf_team *team, bool mine)
{
    return __all_sync(gf_line_mask(team), mine) != 0;
}

/* What the first lane says. */
GF_INLINE uint32_t gf_lanes_first(const struct gf_team *team, uint32_t value)
{
    return __shfl_sync(gf_line_mask(team), value, 0, GF_LINE_LANES);
}

GF_INLINE void gf_store_line(const struct gf_team *team, char *line, uint32_t lane, struct gf_line_part part)
{
    gf_store_words(team, line + lane * sizeof part, part.words[0], part.words[1]);
}

GF_INLINE struct gf_line_part gf_load_line(const char *line, uint32_t lane)
{
    struct gf_line_part part;
    gf_load_words(line + lane * sizeof part, &part.words[0], &part.words[1]);
    return part;
}

/* Payload passes through once: keep it out of the first-level cache. The assembly is volatile so that it stays between the
 * barriers that license it; loads that stand together are issued together. */
GF_INLINE union gf_item gf_load_item(const void *from)
{
    union gf_item item;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(item.u32[0]), "=r"(item.u32[1]), "=r"(item.u32[2]), "=r"(item.u32[3]) : "l"(from) : "memory");
    return item;
}

GF_INLINE void gf_store_item(const struct gf_team *team, void *to, union gf_item item)
{
    (void)team;
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :: "l"(to), "r"(item.u32[0]), "r"(item.u32[1]), "r"(item.u32[2]), "r"(item.u32[3]) : "memory");
}

/* Single pieces of payload, naturally aligned. The barriers around a step keep the compiler from moving them out of it. */
GF_INLINE uint32_t gf_load_payload32(const void *from) { return *(const uint32_t *)from; }
GF_INLINE uint64_t gf_load_payload64(const void *from) { return *(const uint64_t *)from; }
GF_INLINE uint8_t gf_load_payload8(const void *from) { return *(const uint8_t *)from; }
GF_INLINE void gf_store_payload32(const struct gf_team *team, void *to, uint32_t v) { (void)team; *(uint32_t *)to = v; }
GF_INLINE void gf_store_payload64(const struct gf_team *team, void *to, uint64_t v) { (void)team; *(uint64_t *)to = v; }
GF_INLINE void gf_store_payload8(const struct gf_team *team, void *to, uint8_t v) { (void)team; *(uint8_t *)to = v; }

/* A word of so many bytes, a constant after inlining. Neighbours of what is loaded may be wanted soon: it may be cached. */
GF_INLINE union gf_word gf_load_word(const char *from, uint32_t bytes)
{
    union gf_word word;
    switch (bytes) {
    case 1: word.u8 = *(const uint8_t *)from; break;
    case 2: word.u16 = *(const uint16_t *)from; break;
    case 4: word.u32 = *(const uint32_t *)from; break;
    case 8: word.u64[0] = *(const uint64_t *)from; break;
    default: {
        ulonglong2 pair = *(const ulonglong2 *)from;
        word.u64[0] = pair.x;
        word.u64[1] = pair.y;
    }
    }
    return word;
}

GF_INLINE void gf_store_word(const struct gf_team *team, char *to, union gf_word word, uint32_t bytes)
{
    (void)team;
    switch (bytes) {
    case 1: *(uint8_t *)to = word.u8; break;
    case 2: *(uint16_t *)to = word.u16; break;
    case 4: *(uint32_t *)to = word.u32; break;
    case 8: *(uint64_t *)to = word.u64[0]; break;
    default: *(ulonglong2 *)to = make_ulonglong2(word.u64[0], word.u64[1]);
    }
}

GF_INLINE uint64_t gf_clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* The whole line by one load of the leading warp, which then agrees on what it saw. */
GF_INLINE bool gf_load_command(const uint64_t *line, uint32_t flag, uint32_t *word)
{
    uint32_t lane = threadIdx.x % GF_COMMAND_WORDS;
    uint64_t loaded = gf_load_relaxed64(line + lane);
    if (!__all_sync(0xffffffff, (uint32_t)(loaded >> 32) == flag))
        return false;
    if (threadIdx.x < GF_COMMAND_WORDS)
        word[lane] = (uint32_t)loaded;
    __syncwarp();
    return true;
}

/* The leading warp: each word by a lane. Its threads have written `word` up to now. */
GF_INLINE void gf_store_command(const struct gf_team *team, uint64_t *line, uint32_t flag, const uint32_t *word)
{
    __syncwarp();
    if (team->thread < GF_COMMAND_WORDS)
        gf_store_relaxed64(team, line + team->thread, word[team->thread] | (uint64_t)flag << 32);
}

/* What this thread, and those behind a barrier, load from now on is what the device's shared cache has. */
GF_INLINE void gf_refresh_device_reads(const struct gf_team *team)
{
    (void)team;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* A thread that spins on a GPU keeps its place; other warps run beside it. */
GF_INLINE void gf_pause(const struct gf_team *team)
{
    (void)team;
}

#endif
