# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += transport/transport.h transport/p2p.c transport/shm.c transport/select.c
