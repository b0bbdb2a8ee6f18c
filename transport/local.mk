# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += \
    transport/transport.h transport/select.c transport/wire.h transport/net.c transport/net.h \
    transport/p2p.c transport/shm.c \
    transport/part.c transport/part.h \
    transport/device_part.c transport/device_part.h \
    transport/copy_engine.c transport/copy_engine.h transport/copy_sender.c \
    transport/p2p_copy_engine.c transport/shm_copy_engine.c
