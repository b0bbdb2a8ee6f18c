/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Scan and MPI_Exscan.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/reduction.h"

/* has_result: rank 0 of an exclusive scan has none, but contributes all the same. */
static struct gf_stage_call scan(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, bool has_result)
{
    struct gf_layout none = gf_layout_none();
    struct gf_layout data = gf_layout_equal(1, (size_t)count, type);
    bool in_place = gf_is_in_place(sbuf);

    return gf_stage_call(sbuf, in_place ? none : data, rbuf, in_place ? data : none, has_result ? data : none);
}

int gf_coll_scan(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                 ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_SCAN, .count = (size_t)count, .type = type, .op = op};

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scan(sbuf, rbuf, count, type, true);
    }
    if (gf_reduction_does(&call, &what, "MPI_Scan", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Scan")) {
        call.result = saved->coll_scan(call.send.host, call.recv.host, count, type, op, comm, saved->coll_scan_module);
    }
    return gf_stage_end(&call);
}

static int start_iscan(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iscan(call->send.host, call->recv.host, ours->rcount, ours->rtype, ours->op, gf_saved_comm(ours), request,
                              ours->owner);
}

static struct gf_saved_call later_scan(mca_coll_base_module_t *module, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op)
{
    return (struct gf_saved_call){.start = start_iscan, .owner = gf_coll_saved(module)->coll_iscan_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcount = count, .rtype = type, .op = op};
}

int gf_coll_iscan(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                  ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_scan(module, count, type, op);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_SCAN, .count = (size_t)count, .type = type, .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scan(sbuf, rbuf, count, type, true);
    }
    if (gf_reduction_departs(&call, &what, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iscan", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iscan")) {
        call.result = start_iscan(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_scan_init(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                      ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                      mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_scan(module, count, type, op);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_SCAN, .count = (size_t)count, .type = type, .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scan(sbuf, rbuf, count, type, true);
    }
    if (gf_reduction_departs(&call, &what, &later, GF_NATIVE_PERSISTENT, "MPI_Scan_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Scan_init")) {
        call.result = saved->coll_scan_init(call.send.host, call.recv.host, count, type, op, comm, info, request,
                                            saved->coll_scan_init_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_exscan(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                   ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_EXSCAN, .count = (size_t)count, .type = type, .op = op};

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scan(sbuf, rbuf, count, type, ompi_comm_rank(comm) > 0);
    }
    if (gf_reduction_does(&call, &what, "MPI_Exscan", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Exscan")) {
        call.result = saved->coll_exscan(call.send.host, call.recv.host, count, type, op, comm, saved->coll_exscan_module);
    }
    return gf_stage_end(&call);
}

static int start_iexscan(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iexscan(call->send.host, call->recv.host, ours->rcount, ours->rtype, ours->op, gf_saved_comm(ours),
                               request, ours->owner);
}

static struct gf_saved_call later_exscan(mca_coll_base_module_t *module, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op)
{
    return (struct gf_saved_call){.start = start_iexscan, .owner = gf_coll_saved(module)->coll_iexscan_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .rcount = count, .rtype = type, .op = op};
}

int gf_coll_iexscan(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                    ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_exscan(module, count, type, op);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_EXSCAN, .count = (size_t)count, .type = type, .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scan(sbuf, rbuf, count, type, ompi_comm_rank(comm) > 0);
    }
    if (gf_reduction_departs(&call, &what, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iexscan", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iexscan")) {
        call.result = start_iexscan(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_exscan_init(const void *sbuf, void *rbuf, gf_mpi_count count, ompi_datatype_t *type, ompi_op_t *op,
                        ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                        mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_exscan(module, count, type, op);
    const struct gf_reduction_call what = {.kind = GF_REDUCTION_EXSCAN, .count = (size_t)count, .type = type, .op = op};
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = scan(sbuf, rbuf, count, type, ompi_comm_rank(comm) > 0);
    }
    if (gf_reduction_departs(&call, &what, &later, GF_NATIVE_PERSISTENT, "MPI_Exscan_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Exscan_init")) {
        call.result = saved->coll_exscan_init(call.send.host, call.recv.host, count, type, op, comm, info, request,
                                              saved->coll_exscan_init_module);
    }
    return gf_request_return(&call, request);
}
