/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce over the program's own buffers, which all ranks have mapped. Two-shot: each rank reduces its share, and stores the
 * result to all; the kernels meet. One-shot: each rank reduces everything for itself, so that no kernel waits; the hosts meet.
 */
#ifndef GF_CORE_MAPPED_ALLREDUCE_H
#define GF_CORE_MAPPED_ALLREDUCE_H

#include "core/execute.h"
#include "core/mapped.h"
#include "core/plan.h"
#include "kernels/ring_work.h"

/* The buffers of one call, with what is known of them: see struct gf_registry_buffer. */
struct gf_mapped_buffers {
    const void *send;
    void *recv;
    const struct gf_pointer *send_where, *recv_where;
    bool patient;
};

/* Collective: all have entered with buffers that all have mapped (GF_OK), or errors as gf_registry_enter. */
gf_status gf_mapped_enter(struct gf_mapped *m, const struct gf_mapped_buffers *buffers, size_t count, enum gf_type type,
                          enum gf_op op, struct gf_reason *why);

/* Collective, after gf_mapped_enter has returned GF_OK on all ranks. data has kernel addresses. */
gf_status gf_mapped_two_shot(struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data,
                             struct gf_execution *e, struct gf_reason *why);

/* Has any rank entered with the same buffer twice? Then one-shot cannot be: a result would be stored where peers still load. The
 * same on all ranks. */
bool gf_mapped_in_place(const struct gf_mapped *m);

/* In place of gf_mapped_two_shot, for at most GF_LOCAL_INPUTS ranks. */
gf_status gf_mapped_one_shot(struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data,
                             struct gf_execution *e, struct gf_reason *why);

/* After gf_mapped_enter has returned GF_OK: for that neighbour where these buffers are, and where its allocations are here. */
void gf_mapped_fill_ring(const struct gf_mapped *m, int neighbour, struct gf_ring_direct_work *work);

/* The work of a kernel that reduces for itself, in the order of the ranks: data->count elements, from element `first` on, of what
 * the first `inputs` ranks, of which there are at most GF_LOCAL_INPUTS, have entered with as their send buffers, into
 * data->recv. */
void gf_mapped_fill_local(const struct gf_mapped *m, const struct gf_reduction *data, size_t first, int inputs,
                          struct gf_local_work *work);

#endif
