# SPDX-License-Identifier: BSD-3-Clause
pkginclude_HEADERS += include/gpufifo/device.h
libgpufifo_la_SOURCES += device/device.h device/drivers.h device/driver.c

# The CUDA adaptor reads cuda.h for its types and opens the driver at run time: nothing is linked.
if HAVE_CUDA_H
libgpufifo_la_SOURCES += \
    device/cuda.c \
    device/cuda_context.c \
    device/cuda_device.h \
    device/cuda_driver.c \
    device/cuda_driver.h \
    device/cuda_ipc.c \
    device/cuda_launch.c \
    device/cuda_memory.c \
    device/cuda_stream.c
endif
