/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host side of the two-shot allreduce.
 */
#include "core/two_shot.h"

enum { SEND, RECV, FLAGS };

gf_status gf_two_shot_enter(struct gf_mapped *m, const struct gf_two_shot_buffers *buffers, size_t count, enum gf_type type,
                            enum gf_op op, struct gf_reason *why)
{
    size_t bytes = count * gf_type_size(type);
    const struct gf_registry_buffer all[GF_REGISTRY_BUFFERS] = {
        [SEND] = { buffers->send, bytes, buffers->send_where, buffers->patient },
        [RECV] = { buffers->recv, bytes, buffers->recv_where, buffers->patient },
        [FLAGS] = gf_mapped_flags(m),
    };
    const uint64_t what[2] = { count, (uint64_t)type << 32 | (uint64_t)op };

    return gf_registry_enter(&m->registry, all, what, why);
}

gf_status gf_two_shot_allreduce(struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data,
                                struct gf_execution *e, struct gf_reason *why)
{
    struct gf_two_shot_work work = { .data = *data, .epoch = m->registry.call };
    int ranks = m->registry.ranks;
    bool few = ranks <= GF_FEW_RANKS;

    for (int r = 0; r < ranks; r++) {
        work.addresses[r] = gf_registry_address(&m->registry, r, SEND);
        work.addresses[ranks + r] = gf_registry_address(&m->registry, r, RECV);
        work.addresses[2 * ranks + r] = gf_registry_address(&m->registry, r, FLAGS);
    }
    return gf_execution_run(e, few ? GF_KERNEL_ALLREDUCE_TWO_SHOT_FEW : GF_KERNEL_ALLREDUCE_TWO_SHOT, plan->blocks, plan->threads,
                            &work.task, few ? sizeof(struct gf_two_shot_few_work) : sizeof work, why);
}
