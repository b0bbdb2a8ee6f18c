# SPDX-License-Identifier: BSD-3-Clause
# Once there is code: mca_coll_gpufifo_la_SOURCES += mca_coll_gpufifo/component.c ...

# Staging, and the collectives that use it.
mca_coll_gpufifo_la_SOURCES += \
    mca_coll_gpufifo/stage.c mca_coll_gpufifo/stage.h \
    mca_coll_gpufifo/stage_copy.c mca_coll_gpufifo/stage_copy.h \
    mca_coll_gpufifo/stage_layout.c mca_coll_gpufifo/stage_layout.h \
    mca_coll_gpufifo/stage_pool.c mca_coll_gpufifo/stage_pool.h \
    mca_coll_gpufifo/request.c mca_coll_gpufifo/request.h \
    mca_coll_gpufifo/coll/coll.h mca_coll_gpufifo/coll/describe.h \
    mca_coll_gpufifo/coll/allgather.c mca_coll_gpufifo/coll/alltoall.c mca_coll_gpufifo/coll/bcast.c \
    mca_coll_gpufifo/coll/gather.c mca_coll_gpufifo/coll/neighbor.c mca_coll_gpufifo/coll/reduce.c \
    mca_coll_gpufifo/coll/reduce_local.c mca_coll_gpufifo/coll/reduce_scatter.c mca_coll_gpufifo/coll/scan.c \
    mca_coll_gpufifo/coll/scatter.c
