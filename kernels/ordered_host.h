/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The accesses of ordered.h in C11 atomics, for the emulated device.
 */
#ifndef GF_KERNELS_ORDERED_HOST_H
#define GF_KERNELS_ORDERED_HOST_H

#include <string.h>

#include "base/clock.h"

GF_INLINE uint64_t gf_load_acquire64(const uint64_t *from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
GF_INLINE uint64_t gf_load_relaxed64(const uint64_t *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }
GF_INLINE uint32_t gf_load_relaxed32(const uint32_t *from) { return __atomic_load_n(from, __ATOMIC_RELAXED); }

GF_INLINE void gf_store_release64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    if (team->weak)
        gf_block_complete(team->shared, team->thread);
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

GF_INLINE void gf_store_relaxed64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    if (team->weak)
        gf_block_store_word(team->shared, team->thread, to, value);
    else
        __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

GF_INLINE uint64_t gf_load_acquire_device64(const uint64_t *from) { return gf_load_acquire64(from); }

GF_INLINE void gf_store_release_device64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    gf_store_release64(team, to, value);
}

/* Host memory is all there is: a release does it. */
GF_INLINE void gf_flush_device_writes(const struct gf_team *team)
{
    if (team->weak)
        gf_block_complete(team->shared, team->thread);
}

GF_INLINE void gf_flush_host_writes(const struct gf_team *team)
{
    gf_flush_device_writes(team);
}

GF_INLINE void gf_store_release_to_host64(const struct gf_team *team, uint64_t *to, uint64_t value)
{
    gf_store_release64(team, to, value);
}

/* Not delayed: what is stored so is either covered by a later release or needs no order. */
GF_INLINE void gf_store_relaxed32(const struct gf_team *team, uint32_t *to, uint32_t value)
{
    (void)team;
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

GF_INLINE uint32_t gf_add_acquire_release32(const struct gf_team *team, uint32_t *at, uint32_t value)
{
    if (team->weak)
        gf_block_complete(team->shared, team->thread);
    return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}

GF_INLINE uint64_t gf_add_relaxed64(const struct gf_team *team, uint64_t *at, uint64_t value)
{
    (void)team;
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

GF_INLINE void gf_store_words(const struct gf_team *team, void *to, uint64_t low, uint64_t high)
{
    gf_store_relaxed64(team, (uint64_t *)to, low);
    gf_store_relaxed64(team, (uint64_t *)to + 1, high);
}

GF_INLINE void gf_load_words(const void *from, uint64_t *low, uint64_t *high)
{
    *low = gf_load_relaxed64((const uint64_t *)from);
    *high = gf_load_relaxed64((const uint64_t *)from + 1);
}

/* ---- lines of 128 bytes: one thread stands for all lanes ----
 *
 * The block makes a line take effect whole (emulated_block.h); the last word, the flag, is loaded first. */
enum { GF_LINE_LANES = 1, GF_LANE_WORDS = GF_LINE / 8 };

struct gf_line_part {
    uint64_t words[GF_LANE_WORDS];
};

GF_INLINE void gf_lanes_meet(const struct gf_team *team) { (void)team; }
GF_INLINE bool gf_lanes_all(const struct gf_team *team, bool mine) { (void)team; return mine; }
GF_INLINE uint32_t gf_lanes_first(const struct gf_team *team, uint32_t value) { (void)team; return value; }

GF_INLINE void gf_store_line(const struct gf_team *team, char *line, uint32_t lane, struct gf_line_part part)
{
    (void)lane;
    gf_block_store_line(team->shared, team->thread, (uint64_t *)(void *)line, part.words);
}

GF_INLINE struct gf_line_part gf_load_line(const char *line, uint32_t lane)
{
    struct gf_line_part part;
    const uint64_t *words = (const uint64_t *)(const void *)line;
    (void)lane;
    part.words[GF_LANE_WORDS - 1] = gf_load_acquire64(words + GF_LANE_WORDS - 1);
    for (uint32_t i = 0; i < GF_LANE_WORDS - 1; i++)
        part.words[i] = gf_load_relaxed64(words + i);
    return part;
}

/* Payload: plain accesses of any alignment. ThreadSanitizer reports those that no tail or head licenses. */
GF_INLINE void gf_store_payload(const struct gf_team *team, void *to, const void *value, uint32_t bytes)
{
    if (team->weak)
        gf_block_store(team->shared, team->thread, to, value, bytes);
    else
        memcpy(to, value, bytes);
}

GF_INLINE union gf_item gf_load_item(const void *from)
{
    union gf_item item;
    memcpy(&item, from, sizeof item);
    return item;
}

GF_INLINE void gf_store_item(const struct gf_team *team, void *to, union gf_item item)
{
    gf_store_payload(team, to, &item, sizeof item);
}

GF_INLINE uint32_t gf_load_payload32(const void *from) { uint32_t v; memcpy(&v, from, sizeof v); return v; }
GF_INLINE uint64_t gf_load_payload64(const void *from) { uint64_t v; memcpy(&v, from, sizeof v); return v; }
GF_INLINE uint8_t gf_load_payload8(const void *from) { return *(const uint8_t *)from; }
GF_INLINE void gf_store_payload32(const struct gf_team *team, void *to, uint32_t v) { gf_store_payload(team, to, &v, sizeof v); }
GF_INLINE void gf_store_payload64(const struct gf_team *team, void *to, uint64_t v) { gf_store_payload(team, to, &v, sizeof v); }
GF_INLINE void gf_store_payload8(const struct gf_team *team, void *to, uint8_t v) { gf_store_payload(team, to, &v, sizeof v); }

/* A word of so many bytes. */
GF_INLINE union gf_word gf_load_word(const char *from, uint32_t bytes)
{
    union gf_word word;
    memcpy(&word, from, bytes);
    return word;
}

GF_INLINE void gf_store_word(const struct gf_team *team, char *to, union gf_word word, uint32_t bytes)
{
    gf_store_payload(team, to, &word, bytes);
}

GF_INLINE uint64_t gf_clock_ns(void)
{
    return gf_now_ns();
}

GF_INLINE bool gf_load_command(const uint64_t *line, uint32_t flag, uint32_t *word)
{
    bool whole = true;
    for (uint32_t i = 0; i < GF_COMMAND_WORDS; i++) {
        uint64_t loaded = GF_MUTANT == GF_MUTANT_RELAXED_COMMAND ? gf_load_relaxed64(line + i) : gf_load_acquire64(line + i);
        if (GF_MUTANT != GF_MUTANT_SPLIT_COMMAND || i == 0)
            whole &= (uint32_t)(loaded >> 32) == flag;
        word[i] = whole ? (uint32_t)loaded : word[i];
    }
    return whole;
}

GF_INLINE void gf_store_command(const struct gf_team *team, uint64_t *line, uint32_t flag, const uint32_t *word)
{
    for (uint32_t i = 0; i < GF_COMMAND_WORDS; i++)
        gf_store_release64(team, line + i, word[i] | (uint64_t)flag << 32);
}

/* The loads of gf_load_command were acquires. */
GF_INLINE void gf_refresh_device_reads(const struct gf_team *team)
{
    (void)team;
}

/* There are more threads than cores: who waits lets others run. */
GF_INLINE void gf_pause(const struct gf_team *team)
{
    gf_block_pause(team->shared, team->thread);
}

#endif
