/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions other than the blocking allreduce, natively: from the peers' own buffers, which all ranks have mapped
 * (core/reduction.h), or, the blocking ones where ranks are on several nodes, by messages (between/reduce.h, between/scan.h).
 * Only where coll_gpufifo_mapped asks for it; the blocking forms, and as flights (flight.h) the non-blocking and persistent ones.
 *
 * MPI's own types and operations, which the kernels know. Where a rank cannot, by its memory or its device, all stage.
 */
#ifndef GF_MCA_REDUCTION_H
#define GF_MCA_REDUCTION_H

#include "mca_coll_gpufifo/native.h"

enum gf_reduction_kind {
    GF_REDUCTION_REDUCE, GF_REDUCTION_SCATTER, GF_REDUCTION_SCAN, GF_REDUCTION_EXSCAN,
    GF_REDUCTION_ALL                   /* not blocking: every rank makes the whole result */
};

/* What a call's description for staging does not tell. */
struct gf_reduction_call {
    enum gf_reduction_kind kind;
    int root;                          /* REDUCE */
    size_t first;                      /* SCATTER: this rank's part of the result begins with this element */
    size_t count;                      /* elements of a rank's contribution, the same on all ranks */
    const gf_mpi_counts *results;      /* SCATTER: by rank, elements of its result; null: as many for each */
    ompi_datatype_t *type;
    ompi_op_t *op;
};

/* The rest of gf_reduction_does, where it is asked for. */
bool gf_reduction_run(struct gf_stage_call *stage, const struct gf_reduction_call *what, const char *function,
                      mca_coll_base_module_t *module);

/* Between the description of a call and gf_stage_begin. True: the call is done, or has failed; stage->result tells. Without
 * elements it is not counted: it has none on all ranks. */
static inline bool gf_reduction_does(struct gf_stage_call *stage, const struct gf_reduction_call *what, const char *function,
                                     mca_coll_base_module_t *module)
{
    return gf_native_is_asked_for() && what->count > 0 && !gf_native_passes(stage, module) &&
           gf_reduction_run(stage, what, function, module);
}

/* The same for a non-blocking one, between its description and gf_request_begin, or the initialisation of a persistent one,
 * before gf_request_init. saved: what staging its start would call. */
bool gf_reduction_later(struct gf_stage_call *stage, const struct gf_reduction_call *what, const struct gf_saved_call *saved,
                        enum gf_native_later form, const char *function, ompi_request_t **request);

static inline bool gf_reduction_departs(struct gf_stage_call *stage, const struct gf_reduction_call *what,
                                        const struct gf_saved_call *saved, enum gf_native_later form, const char *function,
                                        ompi_request_t **request)
{
    return gf_native_is_asked_for() && what->count > 0 && !gf_native_passes(stage, &saved->module->super) &&
           gf_reduction_later(stage, what, saved, form, function, request);
}

#endif
