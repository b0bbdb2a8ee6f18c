/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Allgather and MPI_Allgatherv.
 */
#include "mca_coll_gpufifo/coll/describe.h"
#include "mca_coll_gpufifo/mapped.h"

int gf_coll_allgather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                      ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_ALLGATHER, 0, "MPI_Allgather", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Allgather")) {
        call.result = saved->coll_allgather(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm,
                                            saved->coll_allgather_module);
    }
    return gf_stage_end(&call);
}

static int start_iallgather(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iallgather(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcount, ours->rtype,
                                  gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_allgather(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                            gf_mpi_count rcount, ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_iallgather, .owner = gf_coll_saved(module)->coll_iallgather_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcount = rcount, .rtype = rdtype};
}

int gf_coll_iallgather(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                       ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_allgather(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLGATHER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iallgather", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iallgather")) {
        call.result = start_iallgather(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_allgather_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_count rcount,
                           ompi_datatype_t *rdtype, ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_allgather(module, scount, sdtype, rcount, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_equal(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcount, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLGATHER, &later, GF_NATIVE_PERSISTENT, "MPI_Allgather_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Allgather_init")) {
        call.result = saved->coll_allgather_init(call.send.host, scount, sdtype, call.recv.host, rcount, rdtype, comm, info,
                                                 request, saved->coll_allgather_init_module);
    }
    return gf_request_return(&call, request);
}

int gf_coll_allgatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                       gf_mpi_displs displs, ompi_datatype_t *rdtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_does(&call, GF_EXCHANGE_ALLGATHER, 0, "MPI_Allgatherv", module)) {
        return call.result;
    }
    if (gf_stage_begin(&call, comm, "MPI_Allgatherv")) {
        call.result = saved->coll_allgatherv(call.send.host, scount, sdtype, call.recv.host, rcounts, displs, rdtype, comm,
                                             saved->coll_allgatherv_module);
    }
    return gf_stage_end(&call);
}

static int start_iallgatherv(const struct gf_saved_call *ours, const struct gf_stage_call *call, ompi_request_t **request)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(&ours->module->super);

    return saved->coll_iallgatherv(call->send.host, ours->scount, ours->stype, call->recv.host, ours->rcounts, ours->rdispls,
                                   ours->rtype, gf_saved_comm(ours), request, ours->owner);
}

static struct gf_saved_call later_allgatherv(mca_coll_base_module_t *module, gf_mpi_count scount, ompi_datatype_t *sdtype,
                                             gf_mpi_counts rcounts, gf_mpi_displs displs, ompi_datatype_t *rdtype)
{
    return (struct gf_saved_call){.start = start_iallgatherv, .owner = gf_coll_saved(module)->coll_iallgatherv_module,
                                  .module = (mca_coll_gpufifo_module_t *)module, .scount = scount, .stype = sdtype,
                                  .rcounts = rcounts, .rdispls = displs, .rtype = rdtype};
}

int gf_coll_iallgatherv(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                        gf_mpi_displs displs, ompi_datatype_t *rdtype, ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *module)
{
    const struct gf_saved_call saved = later_allgatherv(module, scount, sdtype, rcounts, displs, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLGATHER, &saved, GF_NATIVE_NONBLOCKING, "MPI_Iallgatherv", request)) {
        return call.result;
    }
    if (gf_request_begin(&call, comm, "MPI_Iallgatherv")) {
        call.result = start_iallgatherv(&saved, &call, request);
    }
    return gf_request_return(&call, request);
}

int gf_coll_allgatherv_init(const void *sbuf, gf_mpi_count scount, ompi_datatype_t *sdtype, void *rbuf, gf_mpi_counts rcounts,
                            gf_mpi_displs displs, ompi_datatype_t *rdtype, ompi_communicator_t *comm, struct ompi_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_base_comm_coll_t *saved = gf_coll_saved(module);
    const struct gf_saved_call later = later_allgatherv(module, scount, sdtype, rcounts, displs, rdtype);
    struct gf_stage_call call;

    if (!gf_stage_passes(&call, sbuf, rbuf)) {
        call = gf_describe_allgather_v(gf_peers_all(comm), sbuf, scount, sdtype, rbuf, rcounts, displs, rdtype);
    }
    if (gf_mapped_departs(&call, GF_EXCHANGE_ALLGATHER, &later, GF_NATIVE_PERSISTENT, "MPI_Allgatherv_init", request)) {
        return call.result;
    }
    if (gf_request_init(&call, comm, "MPI_Allgatherv_init")) {
        call.result = saved->coll_allgatherv_init(call.send.host, scount, sdtype, call.recv.host, rcounts, displs, rdtype, comm,
                                                  info, request, saved->coll_allgatherv_init_module);
    }
    return gf_request_return(&call, request);
}
