/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threads that run a kernel, as both builds see them. A kernel is written as code of one thread of a block:
 * it takes every threads-th piece of the block's work, and meets its block at barriers.
 *
 * On a GPU a team is built from threadIdx and blockIdx. On the emulated device the threads of a block are host threads
 * (kernels/emulated_block.h), and `shared` is what they have in common.
 */
#ifndef GF_KERNELS_TEAM_H
#define GF_KERNELS_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/work.h"

#ifdef __CUDACC__
#define GF_INLINE static __device__ __forceinline__
#define GF_NOINLINE static __device__ __noinline__
#define GF_INLINE_ON_GPU GF_INLINE
#define GF_UNROLL _Pragma("unroll")
#define GF_ROLL _Pragma("unroll 1")
#else
#define GF_INLINE static inline __attribute__((always_inline, unused))
#define GF_NOINLINE static __attribute__((noinline, unused))
#define GF_INLINE_ON_GPU GF_NOINLINE
#define GF_UNROLL
#define GF_ROLL
#include "kernels/emulated_block.h"
#endif

/* The identity of one thread. Lives on its stack while the kernel runs. */
struct gf_team {
    uint32_t block, blocks;
    uint32_t thread, threads;    /* within the block */
#ifndef __CUDACC__
    struct gf_block *shared;
    bool weak;                   /* stores that others see are delayed (emulated_block.h) */
#endif
};

#ifdef __CUDACC__

GF_INLINE struct gf_team gf_team_self(void)
{
    struct gf_team team = {blockIdx.x, gridDim.x, threadIdx.x, blockDim.x};
    return team;
}

/* All threads of the block meet; what each did before is seen by all after. */
GF_INLINE void gf_team_barrier(const struct gf_team *team)
{
    (void)team;
    __syncthreads();
}

/* The same, and tells every thread whether any of them came with `mine` true. */
GF_INLINE bool gf_team_any(const struct gf_team *team, bool mine)
{
    (void)team;
    return __syncthreads_or(mine) != 0;
}

/* The leading threads, the first ones, look for the others: one warp. */
enum { GF_LEADERS = 32 };

GF_INLINE bool gf_leads(const struct gf_team *team)
{
    return team->thread < GF_LEADERS;
}

/* Among the leading threads. */
GF_INLINE bool gf_leaders_any(const struct gf_team *team, bool mine)
{
    (void)team;
    return __any_sync(0xffffffff, mine) != 0;
}

/* The leading threads meet, and no others; what each did before is seen by all after. */
GF_INLINE void gf_leaders_meet(const struct gf_team *team)
{
    (void)team;
    __syncwarp();
}

#else

GF_INLINE void gf_team_barrier(const struct gf_team *team)
{
    gf_block_barrier(team->shared, team->thread);
}

GF_INLINE bool gf_team_any(const struct gf_team *team, bool mine)
{
    return gf_block_any(team->shared, team->thread, mine);
}

/* The leading thread looks for the others. */
enum { GF_LEADERS = 1 };

GF_INLINE bool gf_leads(const struct gf_team *team)
{
    return team->thread < GF_LEADERS;
}

GF_INLINE bool gf_leaders_any(const struct gf_team *team, bool mine)
{
    (void)team;
    return mine;
}

GF_INLINE void gf_leaders_meet(const struct gf_team *team)
{
    (void)team;
}

#endif

/* The leading threads as a team of their own. */
GF_INLINE struct gf_team gf_leading_team(const struct gf_team *team)
{
    struct gf_team lead = *team;
    lead.threads = GF_LEADERS;
    return lead;
}

/* All threads of a block meet, or of its leading team. */
GF_INLINE void gf_team_meet(const struct gf_team *team)
{
    if (team->threads <= GF_LEADERS)
        gf_leaders_meet(team);
    else
        gf_team_barrier(team);
}

#endif
