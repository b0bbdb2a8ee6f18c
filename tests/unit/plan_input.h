/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What tests of plans begin with.
 */
#ifndef GF_TESTS_UNIT_PLAN_INPUT_H
#define GF_TESTS_UNIT_PLAN_INPUT_H

#include <string.h>

#include "core/plan.h"

static inline struct gf_config default_config(void)
{
    return (struct gf_config){ .one_shot_bytes = 256 << 10, .ll_slot_bytes = 64 << 10, .simple_slot_bytes = 128 << 10 };
}

static inline struct gf_plan_input default_input(size_t count)
{
    return (struct gf_plan_input){
        .count = count, .type = GF_FLOAT, .op = GF_SUM, .ranks = 4, .blocks = 33, .kernels_may_wait = true,
        .device_has_type = true,
    };
}

static inline struct gf_plan plan_of(const struct gf_config *config, const struct gf_plan_input *input)
{
    struct gf_plan plan;

    memset(&plan, 0xa5, sizeof plan);
    gf_plan_allreduce(config, input, &plan);
    return plan;
}

#endif
