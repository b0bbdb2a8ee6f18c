/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GF_BASE_CLOCK_H
#define GF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment in the past, the same for all processes of a node; never goes back. Any thread. */
static inline uint64_t gf_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
