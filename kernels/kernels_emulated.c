/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels, built by gcc or clang for the emulated device.
 */
#include "kernels/emulated_table.h"

#include "kernels/agent.h"
#include "kernels/allreduce.h"
#include "kernels/allreduce_ll128.h"
#include "kernels/exchange.h"
#include "kernels/local.h"
#include "kernels/pack.h"
#include "kernels/pull.h"
#include "kernels/ring.h"
#include "kernels/two_shot.h"

static void allreduce_one_shot(const struct gf_team *team, const void *work)
{
    gf_allreduce_one_shot(team, (const struct gf_one_shot_work *)work);
}

static void allreduce_ll128(const struct gf_team *team, const void *work)
{
    gf_allreduce_ll128(team, (const struct gf_one_shot_work *)work);
}

static void allreduce_ring(const struct gf_team *team, const void *work)
{
    gf_allreduce_ring(team, (const struct gf_ring_work *)work);
}

static void allreduce_ring_lent(const struct gf_team *team, const void *work)
{
    gf_allreduce_ring_lent(team, (const struct gf_ring_work *)work);
}

static void allreduce_ring_direct(const struct gf_team *team, const void *work)
{
    gf_allreduce_ring_direct(team, (const struct gf_ring_direct_work *)work);
}

static void allreduce_two_shot(const struct gf_team *team, const void *work)
{
    gf_allreduce_two_shot(team, (const struct gf_two_shot_work *)work);
}

static void exchange(const struct gf_team *team, const void *work)
{
    gf_exchange(team, (const struct gf_exchange_work *)work);
}

static void reduce_local(const struct gf_team *team, const void *work)
{
    gf_reduce_local(team, (const struct gf_local_work *)work);
}

static void copy_list(const struct gf_team *team, const void *work)
{
    gf_copy_list(team, (const struct gf_copy_work *)work);
}

static void pull_one(const struct gf_team *team, const void *work)
{
    gf_pull_one(team, (const struct gf_pull_work *)work);
}

static void pull_list(const struct gf_team *team, const void *work)
{
    gf_pull_list(team, (const struct gf_pull_list_work *)work);
}

static void pack_one(const struct gf_team *team, const void *work)
{
    gf_pack_one(team, (const struct gf_pack_work *)work);
}

static void pack_list(const struct gf_team *team, const void *work)
{
    gf_pack_list(team, (const struct gf_pack_list_work *)work);
}

GF_STATIC_ASSERT(sizeof(struct gf_agent_block) <= GF_BLOCK_MEMORY, "the memory of a block");

static void agent(const struct gf_team *team, const void *work)
{
    gf_agent_serve(team, (const struct gf_agent_work *)work, (struct gf_agent_block *)gf_block_memory(team->shared));
}

const gf_emulated_kernel gf_emulated_kernels[GF_KERNEL_COUNT] = {
    [GF_KERNEL_ALLREDUCE_ONE_SHOT] = allreduce_one_shot,
    [GF_KERNEL_ALLREDUCE_ONE_SHOT_FEW] = allreduce_one_shot,
    [GF_KERNEL_ALLREDUCE_LL128] = allreduce_ll128,
    [GF_KERNEL_ALLREDUCE_LL128_FEW] = allreduce_ll128,
    [GF_KERNEL_ALLREDUCE_RING] = allreduce_ring,
    [GF_KERNEL_ALLREDUCE_RING_LENT] = allreduce_ring_lent,
    [GF_KERNEL_ALLREDUCE_RING_DIRECT] = allreduce_ring_direct,
    [GF_KERNEL_ALLREDUCE_TWO_SHOT] = allreduce_two_shot,
    [GF_KERNEL_ALLREDUCE_TWO_SHOT_FEW] = allreduce_two_shot,
    [GF_KERNEL_EXCHANGE] = exchange,
    [GF_KERNEL_EXCHANGE_FEW] = exchange,
    [GF_KERNEL_REDUCE_LOCAL] = reduce_local,
    [GF_KERNEL_COPY_LIST] = copy_list,
    [GF_KERNEL_PULL] = pull_one,
    [GF_KERNEL_PULL_LIST] = pull_list,
    [GF_KERNEL_PACK] = pack_one,
    [GF_KERNEL_PACK_LIST] = pack_list,
    [GF_KERNEL_AGENT] = agent,
};

void gf_block_run(struct gf_block *shared, enum gf_kernel kernel, uint32_t block, uint32_t blocks, uint32_t thread,
                  const void *work)
{
    struct gf_team team = {
        .block = block, .blocks = blocks,
        .thread = thread, .threads = gf_block_threads(shared),
        .shared = shared, .weak = gf_block_is_weak(shared),
    };
    if (GF_MUTANT == GF_MUTANT_TORN)
        gf_block_tear_lines(shared);
    gf_emulated_kernels[kernel](&team, work);
    gf_block_complete(shared, thread);
}
