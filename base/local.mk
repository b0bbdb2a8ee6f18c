# SPDX-License-Identifier: BSD-3-Clause
libgpufifo_la_SOURCES += base/status.h base/status.c base/types.h base/types.c base/log.h base/log.c \
    base/clock.h base/random.h
