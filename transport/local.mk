# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += \
    transport/transport.h transport/select.c transport/wire.h transport/wires.c transport/wires.h \
    transport/failure.c transport/failure.h \
    transport/net.c transport/net.h \
    transport/net_address.c transport/net_address.h \
    transport/net_credit.h \
    transport/net_end.c transport/net_end.h \
    transport/net_ends.h transport/net_recv.c transport/net_send.c \
    transport/gdrcopy.c transport/gdrcopy.h transport/net_flush.c transport/net_flush.h \
    transport/net_lanes.c transport/net_lanes.h \
    transport/net_loan.c transport/net_loan.h \
    transport/net_memory.c transport/net_memory.h \
    transport/net_notice.c transport/net_notice.h \
    transport/net_register.c transport/net_register.h \
    transport/net_buffers.c transport/net_buffers.h \
    transport/net_transport.c \
    transport/carrier.c transport/carrier.h transport/carrier_private.h \
    transport/carrier_flush.c transport/carrier_memory.c transport/carrier_receive.c transport/carrier_send.c \
    transport/p2p.c transport/shm.c \
    transport/part.c transport/part.h \
    transport/device_part.c transport/device_part.h \
    transport/copy_engine.c transport/copy_engine.h transport/copy_sender.c \
    transport/p2p_copy_engine.c transport/shm_copy_engine.c

# Wires between nodes, each where its library is.
if HAVE_VERBS
libgfcore_la_SOURCES += \
    transport/near.c transport/near.h transport/adapters.c transport/adapters.h \
    transport/verbs.c transport/verbs.h transport/verbs_private.h transport/verbs_adapter.c transport/verbs_adapter.h \
    transport/verbs_end.c transport/verbs_lane.c transport/verbs_move.c transport/verbs_progress.c transport/verbs_queue.c \
    transport/verbs_rail.c
libgfcore_la_CPPFLAGS += $(VERBS_CPPFLAGS)
libgfcore_la_LIBADD += $(VERBS_LIBS)
endif
if HAVE_UCX
libgfcore_la_SOURCES += \
    transport/ucx.c transport/ucx.h transport/ucx_private.h \
    transport/ucx_lane.c transport/ucx_op.c transport/ucx_peer.c transport/ucx_receive.c \
    transport/ucx_send.c transport/ucx_silence.c \
    transport/ucx_library.c transport/ucx_library.h transport/key_table.c transport/key_table.h
libgfcore_la_CPPFLAGS += $(UCX_CPPFLAGS)
# It is opened by dlopen: what is asked for here is only the folder where it is looked for.
AM_LDFLAGS += $(filter-out -l%,$(UCX_LIBS))
endif
