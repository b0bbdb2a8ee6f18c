# SPDX-License-Identifier: BSD-3-Clause
libgpufifo_la_SOURCES += kernels/work.h
