# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += \
    transport/transport.h transport/select.c transport/wire.h transport/net.c transport/net.h \
    transport/p2p.c transport/shm.c \
    transport/part.c transport/part.h \
    transport/device_part.c transport/device_part.h \
    transport/copy_engine.c transport/copy_engine.h transport/copy_sender.c \
    transport/p2p_copy_engine.c transport/shm_copy_engine.c

# Wires between nodes, each where its library is.
if HAVE_VERBS
libgfcore_la_SOURCES += \
    transport/near.c transport/near.h \
    transport/verbs.c transport/verbs.h transport/verbs_private.h transport/verbs_adapter.c transport/verbs_adapter.h \
    transport/verbs_move.c transport/verbs_progress.c transport/verbs_queue.c
libgfcore_la_CPPFLAGS += $(VERBS_CPPFLAGS)
libgfcore_la_LIBADD += $(VERBS_LIBS)
endif
