/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that move blocks, natively: from the peers' own buffers, which all ranks have mapped (core/exchange.h). By
 * coll_gpufifo_mapped; the blocking forms, and as flights (flight.h) the non-blocking and persistent
 * ones.
 *
 * Which blocks go where is read from the call's description for staging (mapped_blocks.h). Where a rank cannot, by its memory,
 * its types, its neighbours or its device, all stage, as agree.h says.
 */
#ifndef GF_MCA_MAPPED_H
#define GF_MCA_MAPPED_H

#include "mca_coll_gpufifo/native.h"

enum gf_exchange_kind {
    GF_EXCHANGE_BCAST, GF_EXCHANGE_ALLGATHER, GF_EXCHANGE_ALLTOALL, GF_EXCHANGE_GATHER, GF_EXCHANGE_SCATTER,
    GF_EXCHANGE_NEIGHBOR_ALLGATHER, GF_EXCHANGE_NEIGHBOR_ALLTOALL
};

/* The rest of gf_mapped_does, where it is asked for. */
bool gf_mapped_run(struct gf_stage_call *call, enum gf_exchange_kind kind, int root, const char *function,
                   mca_coll_base_module_t *module);

/* Between the description of a call and gf_stage_begin. True: the call is done, or has failed; call->result tells. root: of
 * a rooted one. */
static inline bool gf_mapped_does(struct gf_stage_call *call, enum gf_exchange_kind kind, int root, const char *function,
                                  mca_coll_base_module_t *module)
{
    return gf_native_is_asked_for() && !gf_native_passes(call, module) && gf_mapped_run(call, kind, root, function, module);
}

/* The same for a non-blocking one, between its description and gf_request_begin, or the initialisation of a persistent one,
 * before gf_request_init. saved: what staging its start would call. */
bool gf_mapped_later(struct gf_stage_call *call, enum gf_exchange_kind kind, const struct gf_saved_call *saved,
                     enum gf_native_later form, const char *function, ompi_request_t **request);

static inline bool gf_mapped_departs(struct gf_stage_call *call, enum gf_exchange_kind kind, const struct gf_saved_call *saved,
                                     enum gf_native_later form, const char *function, ompi_request_t **request)
{
    return gf_native_is_asked_for() && !gf_native_passes(call, &saved->module->super) &&
           gf_mapped_later(call, kind, saved, form, function, request);
}

#endif
