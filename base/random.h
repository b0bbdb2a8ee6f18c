/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GF_BASE_RANDOM_H
#define GF_BASE_RANDOM_H

#include <stdint.h>

/* The next number that follows from *state, which may begin with any value: splitmix64 (Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", 2014). For tests and the emulated device, not for secrets. */
static inline uint64_t gf_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
