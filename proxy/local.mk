# SPDX-License-Identifier: BSD-3-Clause
libgfcore_la_SOURCES += \
    proxy/host_memory.c proxy/host_memory.h \
    proxy/host_reduce.c proxy/host_reduce.h \
    proxy/host_sequenced.c proxy/host_sequenced.h \
    proxy/pump.c proxy/pump.h
