# SPDX-License-Identifier: BSD-3-Clause
pkginclude_HEADERS += include/gpufifo/device.h
libgpufifo_la_SOURCES += device/device.h device/drivers.h device/driver.c
