# SPDX-License-Identifier: BSD-3-Clause
libgpufifo_la_SOURCES += device/device.h
pkginclude_HEADERS += include/gpufifo/device.h
