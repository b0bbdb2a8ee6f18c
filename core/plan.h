/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What will be done for one call, and why that. Deciding (core/tuner.c) is a pure function of values that all ranks share.
 */
#ifndef GF_CORE_PLAN_H
#define GF_CORE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/types.h"
#include "core/config.h"

enum gf_algorithm {
    GF_PLAN_NONE,            /* nothing to move: count 0 */
    GF_PLAN_LOCAL,           /* one rank: a device copy */
    GF_PLAN_ONE_SHOT,        /* kernels, LL lines straight to every peer */
    GF_PLAN_RING,            /* kernels, Simple FIFOs round a ring */
    GF_PLAN_HOST,            /* host-sequenced: nothing waits on the device */
    GF_PLAN_TWO_SHOT,        /* kernels, the program's own buffers mapped by all ranks; large ones */
    GF_PLAN_STAGE,           /* not ours: the caller stages through the saved component */
    GF_PLAN_LL128,           /* kernels, LL128 lines straight to every peer; only where a setting asks for it */
    GF_PLAN_ONE_SHOT_MAPPED, /* kernels that wait for nobody, over mapped buffers; only where a setting asks for it */
    GF_PLAN_EXCHANGE,        /* a kernel fetches blocks from buffers that all ranks have mapped; only where a setting asks for
                                it */
    GF_PLAN_EXCHANGE_COPY,   /* the same by copies that the host starts */
    GF_PLAN_REDUCE_MAPPED,   /* a kernel that waits for nobody reduces from buffers that all ranks have mapped, where that is no
                                allreduce; only where a setting asks for it */
    GF_PLAN_COUNT
};

/* What becomes of a call by one-shot over LL, rank by rank. */
enum gf_one_shot_way {
    GF_ONE_SHOT_LAUNCHED,
    GF_ONE_SHOT_BY_AGENT,
    GF_ONE_SHOT_PLAYED       /* by the host in the agent's place (core/played.h) */
};

struct gf_plan {
    enum gf_algorithm algorithm;
    int blocks;              /* of the launch; 0 for what launches nothing */
    int threads;             /* of each block; 0 as blocks */
    uint32_t pieces;         /* one-shot: of the message; else 0 */
    bool ring_order;         /* two-shot: reduces in the order in which the ring would, which would else be taken: the same
                                bits */
    bool agent;              /* one-shot: by the agent where it is there, else launched */
    char reason[160];        /* one sentence: which path and why that */
};

/* What the decision depends on; equal on all ranks. */
struct gf_plan_input {
    size_t count;
    enum gf_type type;
    enum gf_op op;
    int ranks;                     /* at least 1 */
    int nodes;                     /* on which they are, at least 1 */
    int blocks;                    /* blocks a rank may keep resident: the device's share by rule 9 */
    bool agents;                   /* settings and share allow an agent on every rank */
    bool kernels_may_wait;         /* rule 9: kernels of all these ranks can run at once */
    bool shared;                   /* some of them share a device */
    bool device_has_type;          /* the device's arithmetic knows the type */
    unsigned unavailable;          /* bit a set: enum gf_algorithm a could not be connected on this communicator */
};

/* Decides for one allreduce. Pure: the same input gives the same plan on every rank. type and op are an allowed pair, count
 * elements fit a size_t of bytes. */
void gf_plan_allreduce(const struct gf_config *config, const struct gf_plan_input *input, struct gf_plan *plan);

/* Decides how blocks are exchanged between the ranks' buffers. Of the input only ranks, blocks, kernels_may_wait and
 * unavailable count. in_place: ranks swap blocks. Algorithm and reason are the same on all ranks; the launch is this rank's
 * own, which fetches `count` blocks, in all `bytes` bytes. Pure. */
void gf_plan_exchange(const struct gf_config *config, const struct gf_plan_input *input, bool in_place, int count, size_t bytes,
                      struct gf_plan *plan);

/* Decides how a reduction other than allreduce is done. Of the input nodes, agents and op do not count; count is that of the
 * elements that this rank makes, on which only the launch depends, as above. Pure. */
void gf_plan_reduce(const struct gf_config *config, const struct gf_plan_input *input, struct gf_plan *plan);

/* The slots of the two one-shot algorithms, in bytes: a whole number of pieces of `data` bytes, the last one shorter, is a
 * message. */
struct gf_plan_slot {
    size_t bytes, data;
};
struct gf_plan_slot gf_plan_slot(const struct gf_config *config, enum gf_algorithm algorithm);

/* As settings, reports and tables have it; valid for ever. */
const char *gf_algorithm_name(enum gf_algorithm algorithm);

#endif
