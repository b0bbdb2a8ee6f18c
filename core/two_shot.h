/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two-shot allreduce: the host side of GF_KERNEL_ALLREDUCE_TWO_SHOT. The program's own buffers, mapped by all ranks.
 */
#ifndef GF_CORE_TWO_SHOT_H
#define GF_CORE_TWO_SHOT_H

#include "core/execute.h"
#include "core/mapped.h"
#include "core/plan.h"

/* The buffers of one call, with what is known of them: see struct gf_registry_buffer. */
struct gf_two_shot_buffers {
    const void *send;
    void *recv;
    const struct gf_pointer *send_where, *recv_where;
    bool patient;
};

/* Collective: all have entered with buffers that all have mapped (GF_OK), or errors as gf_registry_enter. */
gf_status gf_two_shot_enter(struct gf_mapped *m, const struct gf_two_shot_buffers *buffers, size_t count, enum gf_type type,
                            enum gf_op op, struct gf_reason *why);

/* Collective, after gf_two_shot_enter has returned GF_OK on all ranks. data has kernel addresses. */
gf_status gf_two_shot_allreduce(struct gf_mapped *m, const struct gf_plan *plan, const struct gf_reduction *data,
                                struct gf_execution *e, struct gf_reason *why);

#endif
