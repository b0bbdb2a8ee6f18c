/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every load and store by which the host of one process talks to the host of another, or to its own kernels' words, by
 * purpose. The words that kernels exchange among themselves are kernels/ordered.h's.
 */
#ifndef GF_CORE_HOST_ORDERED_H
#define GF_CORE_HOST_ORDERED_H

#include <stdbool.h>
#include <stdint.h>

/* A counter that only grows, or a completion word: whatever the publisher wrote before is visible after observing it. */
static inline uint64_t gf_host_observe(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void gf_host_publish(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* A flag or code of four bytes, in the same sense. */
static inline uint32_t gf_host_observe_flag(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void gf_host_publish_flag(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The right to write once what the flag guards: true for exactly one of all who try while it is 0. */
static inline bool gf_host_claim(uint32_t *word, uint32_t claimed)
{
    uint32_t free_value = 0;

    return __atomic_compare_exchange_n(word, &free_value, claimed, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Moves a word that several want to move on: true if it was `from` and is `to` now. Release and acquire. */
static inline bool gf_host_move(uint64_t *word, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* For two sides that each store a word of their own and then look at the other's: with this in between on both sides, at least
 * one of them sees the other's store. */
static inline void gf_host_store_before_look(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
