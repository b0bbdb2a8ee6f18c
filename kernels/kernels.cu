/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels, built by nvcc. The host finds them in the fat binary by these names; each takes the work item of the same
 * name in kernels/work.h by value. One block fills a multiprocessor's share of registers: 512 threads of up to 128.
 */
#include "kernels/agent.h"
#include "kernels/allreduce.h"
#include "kernels/allreduce_ll128.h"
#include "kernels/census.h"
#include "kernels/exchange.h"
#include "kernels/local.h"
#include "kernels/pack.h"
#include "kernels/pull.h"
#include "kernels/ring.h"
#include "kernels/two_shot.h"

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_one_shot(const __grid_constant__ struct gf_one_shot_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_one_shot(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_one_shot_few(const __grid_constant__ struct gf_one_shot_few_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_one_shot(&team, (const struct gf_one_shot_work *)&work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_ll128(const __grid_constant__ struct gf_one_shot_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_ll128(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_ll128_few(const __grid_constant__ struct gf_one_shot_few_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_ll128(&team, (const struct gf_one_shot_work *)&work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_ring(const __grid_constant__ struct gf_ring_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_ring(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_ring_lent(const __grid_constant__ struct gf_ring_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_ring_lent(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_ring_direct(const __grid_constant__ struct gf_ring_direct_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_ring_direct(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_two_shot(const __grid_constant__ struct gf_two_shot_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_two_shot(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_allreduce_two_shot_few(const __grid_constant__ struct gf_two_shot_few_work work)
{
    struct gf_team team = gf_team_self();
    gf_allreduce_two_shot(&team, (const struct gf_two_shot_work *)&work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_exchange(const __grid_constant__ struct gf_exchange_work work)
{
    struct gf_team team = gf_team_self();
    gf_exchange(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_exchange_few(const __grid_constant__ struct gf_exchange_few_work work)
{
    struct gf_team team = gf_team_self();
    gf_exchange(&team, (const struct gf_exchange_work *)&work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_reduce_local(const __grid_constant__ struct gf_local_work work)
{
    struct gf_team team = gf_team_self();
    gf_reduce_local(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_copy_list(const __grid_constant__ struct gf_copy_work work)
{
    struct gf_team team = gf_team_self();
    gf_copy_list(&team, &work);
}

/* Two blocks a multiprocessor: one stores while the other waits for what it loads. */
extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 2)
gf_kernel_pull(const __grid_constant__ struct gf_pull_work work)
{
    struct gf_team team = gf_team_self();
    gf_pull_one(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 2)
gf_kernel_pull_list(const __grid_constant__ struct gf_pull_list_work work)
{
    struct gf_team team = gf_team_self();
    gf_pull_list(&team, &work);
}

/* Likewise. */
extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 2)
gf_kernel_pack(const __grid_constant__ struct gf_pack_work work)
{
    struct gf_team team = gf_team_self();
    gf_pack_one(&team, &work);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 2)
gf_kernel_pack_list(const __grid_constant__ struct gf_pack_list_work work)
{
    struct gf_team team = gf_team_self();
    gf_pack_list(&team, &work);
}

static __device__ struct gf_census_counts gf_census_counts_of_stream;

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS)
gf_kernel_census(const __grid_constant__ struct gf_census_work work)
{
    struct gf_team team = gf_team_self();
    gf_census(&team, &work, &gf_census_counts_of_stream);
}

extern "C" __global__ void __launch_bounds__(GF_BLOCK_THREADS, 1)
gf_kernel_agent(const __grid_constant__ struct gf_agent_work work)
{
    __shared__ struct gf_agent_block block;
    struct gf_team team = gf_team_self();
    gf_agent_serve(&team, &work, &block);
}
