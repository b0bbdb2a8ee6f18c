# SPDX-License-Identifier: BSD-3-Clause
#
# The component: opening and settings, modules, the agreement between ranks, and what of MPI maps to what of ours.
mca_coll_gpufifo_la_SOURCES += \
    mca_coll_gpufifo/component.c mca_coll_gpufifo/params.c mca_coll_gpufifo/params_nodes.c \
    mca_coll_gpufifo/pvars.c mca_coll_gpufifo/pvars.h \
    mca_coll_gpufifo/tuned_sizes.c mca_coll_gpufifo/tuned_sizes.h \
    mca_coll_gpufifo/choice.c mca_coll_gpufifo/choice.h mca_coll_gpufifo/number.c mca_coll_gpufifo/number.h \
    mca_coll_gpufifo/module.c mca_coll_gpufifo/module.h mca_coll_gpufifo/ordered.c mca_coll_gpufifo/ordered.h \
    mca_coll_gpufifo/ompi_abi.h mca_coll_gpufifo/error.c \
    mca_coll_gpufifo/host_memory.c mca_coll_gpufifo/host_memory.h \
    mca_coll_gpufifo/memory_kind.c mca_coll_gpufifo/memory_kind.h \
    mca_coll_gpufifo/datatype.c mca_coll_gpufifo/datatype.h mca_coll_gpufifo/op.c mca_coll_gpufifo/op.h \
    mca_coll_gpufifo/agree.c mca_coll_gpufifo/agree.h mca_coll_gpufifo/agree_board.c mca_coll_gpufifo/agree_board.h \
    mca_coll_gpufifo/card.c mca_coll_gpufifo/card.h mca_coll_gpufifo/nodes.c mca_coll_gpufifo/nodes.h \
    mca_coll_gpufifo/agree_later.c mca_coll_gpufifo/agree_later.h mca_coll_gpufifo/flight.c mca_coll_gpufifo/flight.h \
    mca_coll_gpufifo/flight_private.h mca_coll_gpufifo/turns.c mca_coll_gpufifo/turns.h \
    mca_coll_gpufifo/placed.c mca_coll_gpufifo/placed.h mca_coll_gpufifo/setting_up.c mca_coll_gpufifo/setting_up.h \
    mca_coll_gpufifo/request_flight.c mca_coll_gpufifo/request_private.h mca_coll_gpufifo/hold.h \
    mca_coll_gpufifo/agree_map.c mca_coll_gpufifo/agree_map.h mca_coll_gpufifo/agree_nodes.c mca_coll_gpufifo/agree_nodes.h \
    mca_coll_gpufifo/ballot.c mca_coll_gpufifo/ballot.h mca_coll_gpufifo/arming.c mca_coll_gpufifo/arming.h \
    mca_coll_gpufifo/gone.c mca_coll_gpufifo/gone.h mca_coll_gpufifo/kept.c mca_coll_gpufifo/kept.h \
    mca_coll_gpufifo/mailbox.c mca_coll_gpufifo/mailbox.h mca_coll_gpufifo/mail.c mca_coll_gpufifo/mail.h \
    mca_coll_gpufifo/bootstrap.c mca_coll_gpufifo/bootstrap.h \
    mca_coll_gpufifo/freed.c mca_coll_gpufifo/freed.h \
    mca_coll_gpufifo/net.c mca_coll_gpufifo/net.h mca_coll_gpufifo/native.c mca_coll_gpufifo/native.h mca_coll_gpufifo/mapped.c \
    mca_coll_gpufifo/mapped.h mca_coll_gpufifo/mapped_buffer.h \
    mca_coll_gpufifo/mapped_blocks.c mca_coll_gpufifo/mapped_blocks.h \
    mca_coll_gpufifo/mapped_pack.c mca_coll_gpufifo/mapped_pack.h \
    mca_coll_gpufifo/neighbours.c mca_coll_gpufifo/neighbours.h \
    mca_coll_gpufifo/reduction.c mca_coll_gpufifo/reduction.h \
    mca_coll_gpufifo/between/messages.c mca_coll_gpufifo/between/messages.h \
    mca_coll_gpufifo/between/exchange.c mca_coll_gpufifo/between/exchange.h \
    mca_coll_gpufifo/between/spread.c mca_coll_gpufifo/between/spread.h \
    mca_coll_gpufifo/between/reducer.c mca_coll_gpufifo/between/reducer.h \
    mca_coll_gpufifo/between/reduce.c mca_coll_gpufifo/between/reduce.h \
    mca_coll_gpufifo/between/scan.c mca_coll_gpufifo/between/scan.h \
    mca_coll_gpufifo/between/allreduce.c mca_coll_gpufifo/between/allreduce.h \
    mca_coll_gpufifo/coll/allreduce.c

# Open MPI may be calling back when it closes the component: a thread of its own that releases memory, or somebody who put a
# function in front of ours. So the code stays.
mca_coll_gpufifo_la_LDFLAGS += -Wl,-z,nodelete

# Point-to-point.
mca_coll_gpufifo_la_SOURCES += \
    mca_coll_gpufifo/pt2pt/interpose.c mca_coll_gpufifo/pt2pt/interpose.h mca_coll_gpufifo/pt2pt/functions.h \
    mca_coll_gpufifo/pt2pt/send.c mca_coll_gpufifo/pt2pt/recv.c mca_coll_gpufifo/pt2pt/post.c \
    mca_coll_gpufifo/pt2pt/persistent.c \
    mca_coll_gpufifo/pt2pt/request.c mca_coll_gpufifo/pt2pt/request.h mca_coll_gpufifo/pt2pt/bounce.c \
    mca_coll_gpufifo/pt2pt/bounce.h \
    mca_coll_gpufifo/pt2pt/replace.c mca_coll_gpufifo/pt2pt/replace.h \
    mca_coll_gpufifo/pt2pt/host_data.c mca_coll_gpufifo/pt2pt/host_data.h \
    mca_coll_gpufifo/pt2pt/rendezvous.c mca_coll_gpufifo/pt2pt/rendezvous.h mca_coll_gpufifo/pt2pt/offer.c \
    mca_coll_gpufifo/pt2pt/offer.h \
    mca_coll_gpufifo/pt2pt/queue.c mca_coll_gpufifo/pt2pt/queue.h mca_coll_gpufifo/pt2pt/arrive.c \
    mca_coll_gpufifo/pt2pt/host_receive.c mca_coll_gpufifo/pt2pt/host_receive.h \
    mca_coll_gpufifo/pt2pt/landing.c mca_coll_gpufifo/pt2pt/landing.h \
    mca_coll_gpufifo/pt2pt/rts.c mca_coll_gpufifo/pt2pt/rts.h \
    mca_coll_gpufifo/pt2pt/message.c mca_coll_gpufifo/pt2pt/message.h mca_coll_gpufifo/pt2pt/stash.c \
    mca_coll_gpufifo/pt2pt/stash.h \
    mca_coll_gpufifo/pt2pt/probe.c mca_coll_gpufifo/pt2pt/pipes.c mca_coll_gpufifo/pt2pt/pipes.h \
    mca_coll_gpufifo/pt2pt/chunks.c mca_coll_gpufifo/pt2pt/chunks_exchange.c mca_coll_gpufifo/pt2pt/chunks.h \
    mca_coll_gpufifo/pt2pt/chunks_in.c \
    mca_coll_gpufifo/pt2pt/links.c mca_coll_gpufifo/pt2pt/links.h mca_coll_gpufifo/pt2pt/links_greet.c \
    mca_coll_gpufifo/pt2pt/links_private.h mca_coll_gpufifo/pt2pt/pml_request.h \
    mca_coll_gpufifo/pt2pt/chunks_lane.h mca_coll_gpufifo/pt2pt/chunks_out.c \
    mca_coll_gpufifo/pt2pt/fetch.c mca_coll_gpufifo/pt2pt/fetch.h mca_coll_gpufifo/pt2pt/tell.c mca_coll_gpufifo/pt2pt/tell.h

# One-sided communication.
mca_coll_gpufifo_la_SOURCES += \
    mca_coll_gpufifo/onesided/windows.c mca_coll_gpufifo/onesided/windows.h mca_coll_gpufifo/onesided/access.c

# Staging, and the collectives that use it.
mca_coll_gpufifo_la_SOURCES += \
    mca_coll_gpufifo/stage.c mca_coll_gpufifo/stage.h \
    mca_coll_gpufifo/stage_copy.c mca_coll_gpufifo/stage_copy.h \
    mca_coll_gpufifo/flatten.c mca_coll_gpufifo/flatten.h mca_coll_gpufifo/device_memory.c mca_coll_gpufifo/device_memory.h \
    mca_coll_gpufifo/stage_layout.c mca_coll_gpufifo/stage_layout.h \
    mca_coll_gpufifo/stage_pool.c mca_coll_gpufifo/stage_pool.h \
    mca_coll_gpufifo/request.c mca_coll_gpufifo/request.h \
    mca_coll_gpufifo/coll/coll.h mca_coll_gpufifo/coll/describe.h \
    mca_coll_gpufifo/coll/allgather.c mca_coll_gpufifo/coll/alltoall.c mca_coll_gpufifo/coll/bcast.c \
    mca_coll_gpufifo/coll/gather.c mca_coll_gpufifo/coll/neighbor_allgather.c \
    mca_coll_gpufifo/coll/neighbor_alltoall.c mca_coll_gpufifo/coll/reduce.c \
    mca_coll_gpufifo/coll/reduce_local.c mca_coll_gpufifo/coll/reduce_scatter.c mca_coll_gpufifo/coll/scan.c \
    mca_coll_gpufifo/coll/scatter.c

# What host-only calls pay, measured inside one process.
noinst_PROGRAMS += mca_coll_gpufifo/host_price
mca_coll_gpufifo_host_price_SOURCES = mca_coll_gpufifo/host_price.c
mca_coll_gpufifo_host_price_CPPFLAGS = $(mca_coll_gpufifo_la_CPPFLAGS)
mca_coll_gpufifo_host_price_CFLAGS = $(mca_coll_gpufifo_la_CFLAGS)
mca_coll_gpufifo_host_price_LDADD = $(MPI_LIBS) -lopen-pal
