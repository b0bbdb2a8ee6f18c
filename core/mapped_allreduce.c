/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kernels of both get.
 */
#include "core/mapped_allreduce.h"

enum { SEND, RECV, FLAGS };

_Static_assert(GF_REGISTRY_PLACES <= (int)GF_RING_PLACES, "a kernel of the ring knows all places");

gf_status gf_mapped_enter(struct gf_mapped *m, const struct gf_mapped_buffers *buffers, size_t count, enum gf_type type,
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

/* The rank whose data come first in the reduction of this rank's share. Of what is not reduced, the order matters. */
static int first_rank(const struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data)
{
    bool reduces = data->op != GF_REPLACE && data->op != GF_NO_OP;

    return plan->ring_order && reduces ? (m->registry.rank + 1) % m->registry.ranks : 0;
}

gf_status gf_mapped_two_shot(struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data,
                             struct gf_execution *e, struct gf_reason *why)
{
    struct gf_two_shot_work work = { .data = *data, .epoch = m->registry.call };
    int ranks = m->registry.ranks, first = first_rank(m, plan, data);
    bool few = ranks <= GF_FEW_RANKS;

    for (int r = 0; r < ranks; r++) {
        work.addresses[r] = gf_registry_address(&m->registry, (first + r) % ranks, SEND);
        work.addresses[ranks + r] = gf_registry_address(&m->registry, r, RECV);
        work.addresses[2 * ranks + r] = gf_registry_address(&m->registry, r, FLAGS);
    }
    return gf_execution_run(e, few ? GF_KERNEL_ALLREDUCE_TWO_SHOT_FEW : GF_KERNEL_ALLREDUCE_TWO_SHOT, plan->blocks, plan->threads,
                            &work.task, few ? sizeof(struct gf_two_shot_few_work) : sizeof work, why);
}

void gf_mapped_fill_ring(const struct gf_mapped *m, int neighbour, struct gf_ring_direct_work *work)
{
    const struct gf_registry *registry = &m->registry;
    const struct gf_registry_record *mine = registry->records[registry->rank];

    for (int i = SEND; i <= RECV; i++) {
        work->mine[i] = (uint64_t)mine->place[i] << GF_ADDRESS_OFFSET_BITS | mine->offset[i];
    }
    for (int place = 0; place < GF_REGISTRY_PLACES; place++) {
        work->places[place] = registry->of[neighbour].kernel_base[place];
    }
}

bool gf_mapped_in_place(const struct gf_mapped *m)
{
    for (int r = 0; r < m->registry.ranks; r++) {
        if (gf_registry_address(&m->registry, r, SEND) == gf_registry_address(&m->registry, r, RECV)) {
            return true;
        }
    }
    return false;
}

void gf_mapped_fill_local(const struct gf_mapped *m, const struct gf_reduction *data, size_t first, int inputs,
                          struct gf_local_work *work)
{
    size_t offset = first * gf_type_size((enum gf_type)data->type);

    *work = (struct gf_local_work){ .recv = data->recv, .count = data->count, .type = data->type, .op = data->op,
                                    .input_count = (uint32_t)inputs };
    for (int r = 0; r < inputs; r++) {
        work->inputs[r] = gf_registry_address(&m->registry, r, SEND) + offset;
    }
}

gf_status gf_mapped_one_shot(struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data,
                             struct gf_execution *e, struct gf_reason *why)
{
    struct gf_local_work work;

    gf_mapped_fill_local(m, data, 0, m->registry.ranks, &work);
    gf_status status = gf_execution_run(e, GF_KERNEL_REDUCE_LOCAL, plan->blocks, plan->threads, &work.task, sizeof work, why);

    return status == GF_OK ? gf_registry_leave(&m->registry, why) : status;
}
