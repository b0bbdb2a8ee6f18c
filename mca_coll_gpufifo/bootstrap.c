/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap through the saved collectives, on host buffers.
 */
#include "mca_coll_gpufifo/bootstrap.h"

#include "opal/runtime/opal_progress.h"

static gf_status allgather(void *ctx, const void *mine, void *all, size_t bytes)
{
    mca_coll_gpufifo_module_t *module = ctx;

    return module->saved.coll_allgather(mine, (gf_mpi_count)bytes, MPI_BYTE, all, (gf_mpi_count)bytes, MPI_BYTE, module->comm,
                                        module->saved.coll_allgather_module) == OMPI_SUCCESS ? GF_OK : GF_ERR_PEER;
}

static gf_status alltoall(void *ctx, const void *to, void *from, size_t bytes)
{
    mca_coll_gpufifo_module_t *module = ctx;

    return module->saved.coll_alltoall(to, (gf_mpi_count)bytes, MPI_BYTE, from, (gf_mpi_count)bytes, MPI_BYTE, module->comm,
                                       module->saved.coll_alltoall_module) == OMPI_SUCCESS ? GF_OK : GF_ERR_PEER;
}

static void progress(void *ctx)
{
    (void)ctx;
    opal_progress();
}

struct gf_bootstrap gf_bootstrap_of(mca_coll_gpufifo_module_t *module)
{
    return (struct gf_bootstrap){
        .ctx = module,
        .rank = ompi_comm_rank(module->comm),
        .ranks = ompi_comm_size(module->comm),
        .allgather = allgather,
        .alltoall = alltoall,
        .progress = progress,
    };
}
