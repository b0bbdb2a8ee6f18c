/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce and MPI_Allreduce, the latter but for its native path (allreduce.c).
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/reduction.h"

/* Every rank contributes and has the result. In place, the contribution is where the result goes. */
static struct gf_stage_call allreduce(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type)
{
    struct gf_layout none = gf_layout_none();
    struct gf_layout data = gf_layout_equal(1, (size_t)count, type);
    bool in_place = gf_is_in_place(sbuf);

    return gf_stage_call(sbuf, in_place ? none : data, rbuf, in_place ? data : none, data);
}

int gf_stage_allreduce(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                       ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = allreduce(sbuf, rbuf, count, type);
        call.told = true;              /* by the native path */
    }
    if (gf_stage_begin(&call, comm, "MPI_Allreduce")) {
        call.result = saved->coll_allreduce(call.send.host, call.recv.host, count, type, op, comm, saved->coll_allreduce_module);
    }
    return gf_stage_end(&call);
}

static int start_iallreduce(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iallreduce(call->send.host, call->recv.host, ours->rcount, ours->rtype, ours->op, gf_saved_comm(ours),
                                  request, ours->owner);
}

static struct gf_saved_call later_allreduce(mca_coll_base_module_t *module, gf_mpi_count count, ompi_datatype_t *type,
                                            ompi_op_t *op)
{
    return (struct gf_saved_call){.start = start_iallreduce, .owner = gf_coll_saved(module)->coll_iallreduce_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcount = count, .rtype = type, .op = op};
}

int gf_coll_iallreduce(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                       ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_allreduce(module, count, type, op);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_ALL, .count = (size_t)count, .type = type, .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = allreduce(sbuf, rbuf, count, type);
    }
    if (gf_reduction_departs(&call, &what, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iallreduce", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iallreduce")) {
        call.result = start_iallreduce(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_allreduce_init(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                           ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_allreduce(module, count, type, op);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_ALL, .count = (size_t)count, .type = type, .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = allreduce(sbuf, rbuf, count, type);
    }
    if (gf_reduction_departs(&call, &what, &later, GF_NATIVE_PERSISTENT, "MPI_Allreduce_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Allreduce_init")) {
        call.result = saved->coll_allreduce_init(call.send.host, call.recv.host, count, type, op, comm, info, request,
                                                 saved->coll_allreduce_init_module);
    }
    return gf_request_return(&call, request);
}

static struct gf_stage_call reduce(ompi_communicator_t *comm, int root, const void *sbuf, void *rbuf, gf_mpi_count count,
                                   ompi_datatype_t *type)
{
    struct gf_layout none = gf_layout_none();
    struct gf_layout data = gf_layout_equal(1, (size_t)count, type);

    switch (gf_role_of(root, comm)) {
    case GF_ROLE_IDLE:
        return gf_stage_call(sbuf, none, rbuf, none, none);
    case GF_ROLE_OTHER:
        return gf_stage_call(sbuf, data, rbuf, none, none);
    case GF_ROLE_ROOT:
        break;
    }
    /* The root of an intercommunicator contributes nothing. */
    return OMPI_COMM_IS_INTER(comm) ? gf_stage_call(sbuf, none, rbuf, none, data) : allreduce(sbuf, rbuf, count, type);
}

int gf_coll_reduce(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op, int root,
                   ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_REDUCE, .root = root, .count = (size_t)count, .type = type,
                                           .op = op};

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce(comm, root, sbuf, rbuf, count, type);
    }
    if (gf_reduction_does(&call, &what, "MPI_Reduce", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Reduce")) {
        call.result = saved->coll_reduce(call.send.host, call.recv.host, count, type, op, root, comm, saved->coll_reduce_module);
    }
    return gf_stage_end(&call);
}

static int start_ireduce(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_ireduce(call->send.host, call->recv.host, ours->rcount, ours->rtype, ours->op, ours->root,
                               gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_reduce(mca_coll_base_module_t *module, gf_mpi_count count, ompi_datatype_t *type,
                                         ompi_op_t *op, int root)
{
    return (struct gf_saved_call){.start = start_ireduce, .owner = gf_coll_saved(module)->coll_ireduce_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcount = count, .rtype = type, .op = op,
                                  .root = root};
}

int gf_coll_ireduce(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op, int root,
                    ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_reduce(module, count, type, op, root);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_REDUCE, .root = root, .count = (size_t)count, .type = type,
                                           .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce(comm, root, sbuf, rbuf, count, type);
    }
    if (gf_reduction_departs(&call, &what, &saved, GF_NATIVE_NONBLOCKING, "MPI_Ireduce", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Ireduce")) {
        call.result = start_ireduce(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_reduce_init(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op, int root,
                        ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                        mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_reduce(module, count, type, op, root);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_REDUCE, .root = root, .count = (size_t)count, .type = type,
                                           .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = reduce(comm, root, sbuf, rbuf, count, type);
    }
    if (gf_reduction_departs(&call, &what, &later, GF_NATIVE_PERSISTENT, "MPI_Reduce_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Reduce_init")) {
        call.result = saved->coll_reduce_init(call.send.host, call.recv.host, count, type, op, root, comm, info, request,
                                              saved->coll_reduce_init_module);
    }
    return gf_request_return(&call, request);
}
