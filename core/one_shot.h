/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-shot allreduce: the host side of GF_KERNEL_ALLREDUCE_ONE_SHOT and GF_KERNEL_ALLREDUCE_LL128. Connections to all peers, and
 * the epoch that marks the lines. A communicator that uses both has slots and epochs for each.
 */
#ifndef GF_CORE_ONE_SHOT_H
#define GF_CORE_ONE_SHOT_H

#include "core/connect.h"
#include "core/execute.h"
#include "core/plan.h"
#include "core/played.h"

/* Owned by the communicator. */
struct gf_one_shot {
    struct gf_pattern pattern;
    enum gf_algorithm algorithm;   /* GF_PLAN_ONE_SHOT or GF_PLAN_LL128 */
    uint32_t epochs_left;          /* until the sweep, the same on all ranks; the next epoch is
                                      GF_LL_EPOCH_LAST - epochs_left + 1 */
    gf_agent *agent;               /* null: none; outlives this */
    int table;                     /* by which the agent knows the connections */
    struct gf_played played;       /* for calls that the agent does not come to do */
    enum gf_one_shot_way way;      /* of the last call */
};

/* Collective, the same result on all ranks; after an error nothing is left behind. LL128 is GF_ERR_UNSUPPORTED, under strict
 * GF_ERR_DEVICE, where a line does not arrive whole between some two ranks, or may not. */
gf_status gf_one_shot_connect(struct gf_one_shot *o, enum gf_algorithm algorithm, const struct gf_connect_setup *setup,
                              struct gf_reason *why);

/* Not collective: calls that are planned for an agent may go to this one from now on. The execution's words live as long as
 * this. */
gf_status gf_one_shot_use_agent(struct gf_one_shot *o, gf_agent *agent, const struct gf_config *config,
                                const struct gf_execution *e, struct gf_reason *why);

struct gf_one_shot_call {
    struct gf_reduction data;      /* kernel addresses */
    const void *send;              /* the user addresses of the same */
    void *recv;
};

/* Collective. */
gf_status gf_one_shot_allreduce(struct gf_one_shot *o, const struct gf_plan *plan, const struct gf_one_shot_call *call,
                                const struct gf_config *config, struct gf_execution *e, struct gf_reason *why);

/* Idempotent; zeros are allowed. */
void gf_one_shot_destroy(struct gf_one_shot *o);

#endif
