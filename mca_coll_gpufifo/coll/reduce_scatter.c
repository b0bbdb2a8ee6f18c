/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce_scatter and MPI_Reduce_scatter_block.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/reduction.h"

/* Each rank contributes to all results and has one. In place, the contribution is in the receive buffer, and the result goes
 * to its start. */
static struct gf_stage_call describe(const void *sbuf, void *rbuf, size_t contributed, size_t result, ompi_datatype_t *type)
{
    struct gf_layout none = gf_layout_none();
    struct gf_layout contribution = gf_layout_equal(1, contributed, type);
    bool in_place = gf_is_in_place(sbuf);

    return gf_stage_call(sbuf, in_place ? none : contribution,
                         rbuf, in_place ? contribution : none, gf_layout_equal(1, result, type));
}

static size_t sum(gf_mpi_counts counts, int ranks)
{
    size_t all = 0;

    for (int rank = 0; rank < ranks; rank++) {
        all += gf_mpi_count_at(counts, rank);
    }
    return all;
}

/* The counts are those of this rank's own group on an intercommunicator too. */
static struct gf_stage_call reduce_scatter(ompi_communicator_t *comm, const void *sbuf, void *rbuf, gf_mpi_counts rcounts,
                                           ompi_datatype_t *type)
{
    return describe(sbuf, rbuf, sum(rcounts, ompi_comm_size(comm)), gf_mpi_count_at(rcounts, ompi_comm_rank(comm)), type);
}

static struct gf_reduction_call scatter_by_counts(ompi_communicator_t *comm, const gf_mpi_counts *rcounts,
                                                  ompi_datatype_t *type, ompi_op_t *op)
{
    return (struct gf_reduction_call){.kind = GF_REDUCTION_SCATTER, .first = sum(*rcounts, ompi_comm_rank(comm)),
                                      .count = sum(*rcounts, ompi_comm_size(comm)), .results = rcounts, .type = type, .op = op};
}

int gf_coll_reduce_scatter(const void *sbuf, void *rbuf, gf_mpi_counts rcounts, ompi_datatype_t *type, ompi_op_t *op,
                           ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce_scatter(comm, sbuf, rbuf, rcounts, type);
    }
    if (gf_native_is_asked_for()) {
        const struct gf_reduction_call what = scatter_by_counts(comm, &rcounts, type, op);

        if (gf_reduction_does(&call, &what, "MPI_Reduce_scatter", module)) {
            return call.result;
        }
    }
    if (gf_stage_begin(&call, comm, "MPI_Reduce_scatter")) {
        call.result = saved->coll_reduce_scatter(call.send.host, call.recv.host, rcounts, type, op, comm,
                                                 saved->coll_reduce_scatter_module);
    }
    return gf_stage_end(&call);
}

static int start_ireduce_scatter(const struct gf_saved_call *ours, const struct gf_stage_call *call,
                                 ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ireduce_scatter(call->send.host, call->recv.host, ours->rcounts, ours->rtype, ours->op,
                                       gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_reduce_scatter(mca_coll_base_module_t *module, gf_mpi_counts rcounts, ompi_datatype_t *type,
                                                 ompi_op_t *op)
{
    return (struct gf_saved_call){.start = start_ireduce_scatter, .owner = gf_coll_saved(module)->coll_ireduce_scatter_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcounts = rcounts, .rtype = type, .op = op};
}

int gf_coll_ireduce_scatter(const void *sbuf, void *rbuf, gf_mpi_counts rcounts, ompi_datatype_t *type, ompi_op_t *op,
                            ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_reduce_scatter(module, rcounts, type, op);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce_scatter(comm, sbuf, rbuf, rcounts, type);
    }
    if (gf_native_is_asked_for()) {
        const struct gf_reduction_call what = scatter_by_counts(comm, &rcounts, type, op);

        if (gf_reduction_departs(&call, &what, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ireduce_scatter", request)) {
            return call.result;
        }
    }
    if (gf_request_begin(&call, comm, "MPI_Ireduce_scatter")) {
        call.result = start_ireduce_scatter(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_reduce_scatter_init(const void *sbuf, void *rbuf, gf_mpi_counts rcounts, ompi_datatype_t *type, ompi_op_t *op,
                                ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_reduce_scatter(module, rcounts, type, op);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce_scatter(comm, sbuf, rbuf, rcounts, type);
    }
    if (gf_native_is_asked_for()) {
        const struct gf_reduction_call what = scatter_by_counts(comm, &rcounts, type, op);

        if (gf_reduction_departs(&call, &what, &later, GF_NATIVE_PERSISTENT, "MPI_Reduce_scatter_init", request)) {
            return call.result;
        }
    }
    if (gf_request_init(&call, comm, "MPI_Reduce_scatter_init")) {
        call.result = saved->coll_reduce_scatter_init(call.send.host, call.recv.host, rcounts, type, op, comm, info, request,
                                                      saved->coll_reduce_scatter_init_module);
    }
    return gf_request_return(&call, request);
}

static struct gf_stage_call reduce_scatter_block(ompi_communicator_t *comm, const void *sbuf, void *rbuf, gf_mpi_count rcount,
                                                 ompi_datatype_t *type)
{
    return describe(sbuf, rbuf, (size_t)ompi_comm_size(comm) * (size_t)rcount, (size_t)rcount, type);
}

static struct gf_reduction_call scatter_by_blocks(ompi_communicator_t *comm, gf_mpi_count rcount, ompi_datatype_t *type,
                                                  ompi_op_t *op)
{
    return (struct gf_reduction_call){.kind = GF_REDUCTION_SCATTER, .first = (size_t)ompi_comm_rank(comm) * (size_t)rcount,
                                      .count = (size_t)ompi_comm_size(comm) * (size_t)rcount, .type = type, .op = op};
}

int gf_coll_reduce_scatter_block(const void *sbuf, void *rbuf, gf_mpi_count rcount, ompi_datatype_t *type, ompi_op_t *op,
                                 ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;
    const struct gf_reduction_call what = scatter_by_blocks(comm, rcount, type, op);

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce_scatter_block(comm, sbuf, rbuf, rcount, type);
    }
    if (gf_reduction_does(&call, &what, "MPI_Reduce_scatter_block", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Reduce_scatter_block")) {
        call.result = saved->coll_reduce_scatter_block(call.send.host, call.recv.host, rcount, type, op, comm,
                                                       saved->coll_reduce_scatter_block_module);
    }
    return gf_stage_end(&call);
}

static int start_ireduce_scatter_block(const struct gf_saved_call *ours, const struct gf_stage_call *call,
                                       ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ireduce_scatter_block(call->send.host, call->recv.host, ours->rcount, ours->rtype, ours->op,
                                             gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_reduce_scatter_block(mca_coll_base_module_t *module, gf_mpi_count rcount,
                                                       ompi_datatype_t *type, ompi_op_t *op)
{
    return (struct gf_saved_call){.start = start_ireduce_scatter_block,
                                  .owner = gf_coll_saved(module)->coll_ireduce_scatter_block_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcount = rcount, .rtype = type, .op = op};
}

int gf_coll_ireduce_scatter_block(const void *sbuf, void *rbuf, gf_mpi_count rcount, ompi_datatype_t *type, ompi_op_t *op,
                                  ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_reduce_scatter_block(module, rcount, type, op);
    const struct gf_reduction_call what = scatter_by_blocks(comm, rcount, type, op);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce_scatter_block(comm, sbuf, rbuf, rcount, type);
    }
    if (gf_reduction_departs(&call, &what, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ireduce_scatter_block", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ireduce_scatter_block")) {
        call.result = start_ireduce_scatter_block(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_reduce_scatter_block_init(const void *sbuf, void *rbuf, gf_mpi_count rcount, ompi_datatype_t *type, ompi_op_t *op,
                                      ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                      mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_reduce_scatter_block(module, rcount, type, op);
    const struct gf_reduction_call what = scatter_by_blocks(comm, rcount, type, op);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce_scatter_block(comm, sbuf, rbuf, rcount, type);
    }
    if (gf_reduction_departs(&call, &what, &later, GF_NATIVE_PERSISTENT, "MPI_Reduce_scatter_block_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Reduce_scatter_block_init")) {
        call.result = saved->coll_reduce_scatter_block_init(call.send.host, call.recv.host, rcount, type, op, comm, info, request,
                                                            saved->coll_reduce_scatter_block_init_module);
    }
    return gf_request_return(&call, request);
}
