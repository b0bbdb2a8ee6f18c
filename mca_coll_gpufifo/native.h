/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What native collectives share: the communicator's device side, their way through the agreement of the ranks (agree.h), and what
 * is said where a call cannot be native.
 */
#ifndef GF_MCA_NATIVE_H
#define GF_MCA_NATIVE_H

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/request.h"

/* Collective, in a call that all ranks know to be native: module->device_comm, made if there is none. ordinal: of the device that
 * has this rank's buffers. GF_ERR_UNSUPPORTED on all ranks: there can be none, which has been logged; stage, now and for ever. */
gf_status gf_native_comm(mca_coll_gpufifo_module_t *module, int ordinal, struct gf_reason *why);

/* This communicator's device from now on, and what its device side logs by: before there is one. */
void gf_native_choose_device(mca_coll_gpufifo_module_t *module, int ordinal);

/* What its device side is made of, once the device was chosen. Waits for nobody. */
struct gf_comm_setup gf_native_comm_setup(mca_coll_gpufifo_module_t *module);

/* Collective: one more for this communicator, of the same device, when it has one. The caller's. */
gf_status gf_native_comm_make(mca_coll_gpufifo_module_t *module, gf_comm **comm, struct gf_reason *why);

/* This rank stages a call, for a reason. MPI_SUCCESS: it may, and where calls are asked for a line tells of it; else the MPI
 * error that strictness makes of it. amount, unit: of what the call moves. */
int gf_native_refuse(mca_coll_gpufifo_module_t *module, const char *function, size_t amount, const char *unit,
                     const char *reason);

/* A call goes by messages between nodes, with blocks of up to so many bytes: the log tells, where that is asked for. */
void gf_native_tell_messages(mca_coll_gpufifo_module_t *module, const char *function, size_t bytes);

/* A call that may be native where coll_gpufifo_mapped asks for it, and may be staged. Filled by the caller. */
struct gf_native_call {
    struct gf_stage_call *stage;       /* as staging describes it */
    mca_coll_gpufifo_module_t *module;
    const char *function;              /* MPI's name of it */
    int ordinal;                       /* of the device that has this rank's buffers; -1: any will do. By describe */
    bool between_nodes;                /* its ranks are on several nodes, which may be native; by gf_native_call_run */
    size_t block;                      /* where they are: most bytes that go to, or come from, another rank; by describe */
    bool device;                       /* this rank has device buffers, else no data at all; by gf_native_call_run */
    /* What this rank's part is; or why it has none that is native, which counts as host buffers: then all ranks stage. */
    const char *(*describe)(struct gf_native_call *call);
    /* Collective, when all ranks can: does it over module->device_comm, and counts it. */
    gf_status (*run)(struct gf_native_call *call, struct gf_reason *why);
    /* Collective, when all ranks can, where they are on several nodes: does it by messages and counts it. MPI_SUCCESS, or an
     * error of MPI that was reported. Null: such calls are staged. */
    int (*run_between_nodes)(struct gf_native_call *call);
    /* With it: what it needs, before the ranks agree. Null, or why it cannot be had. */
    const char *(*prepare_between_nodes)(struct gf_native_call *call);
    /* Of a non-blocking or persistent one, in place of run: its flight, filled and on the heap; null: no memory. */
    struct gf_flight *(*board)(struct gf_native_call *call);
    const struct gf_saved_call *saved; /* of those: what staging it would call, after another rank or the buffers failed it */
    ompi_request_t **request;          /* and where its request goes */
};

/* A rank with no data at all (counts of zero; nothing that is significant for its role) has no buffer by which device and host
 * could be told apart, and takes either part: on a communicator where ranks have had device buffers it asks, as one with device
 * buffers does, and where all others have those it runs, with nothing to give. Elsewhere it is a host rank, so that programs
 * without device buffers wait for nothing. Two addresses that are host memory for certain are not looked into.
 *
 * Before gf_stage_begin. True: the call is done, or has failed; stage->result tells. */
bool gf_native_call_run(struct gf_native_call *call);

/* The same for a non-blocking one, before gf_request_begin. True: *request is its, or it has failed. */
bool gf_native_call_depart(struct gf_native_call *call);

/* The same for the initialisation of a persistent one, before gf_request_init. */
bool gf_native_call_prepare(struct gf_native_call *call);

/* Which of them. */
enum gf_native_later { GF_NATIVE_NONBLOCKING, GF_NATIVE_PERSISTENT };

static inline bool gf_native_call_later(struct gf_native_call *call, enum gf_native_later form)
{
    return form == GF_NATIVE_PERSISTENT ? gf_native_call_prepare(call) : gf_native_call_depart(call);
}

static inline bool gf_native_is_asked_for(void)
{
    return __builtin_expect(mca_coll_gpufifo_component.config.mapped != GF_MAPPED_OFF, 1);
}

/* The fast way of host-only programs, before gf_native_call_run: host memory for certain is counted, and that is all. */
static inline bool gf_native_passes(const struct gf_stage_call *stage, mca_coll_base_module_t *module)
{
    if (stage->passes) {
        gf_agree_enter_host((mca_coll_gpufifo_module_t *)module);
    }
    return stage->passes;
}

/* What a call moves at this rank's send side. */
static inline size_t gf_native_bytes(const struct gf_stage_call *stage)
{
    return gf_layout_measure(&stage->send.in).bytes + gf_layout_measure(&stage->recv.in).bytes;
}

#endif
