# SPDX-License-Identifier: BSD-3-Clause
pkginclude_HEADERS += include/gpufifo/device.h
libgpufifo_la_SOURCES += device/device.h device/drivers.h device/driver.c device/fd_server.c device/fd_server.h device/public.c

# The emulated device. Its threads run the library's code until the process ends, so the library must not be unloaded before.
libgpufifo_la_LDFLAGS += -Wl,-z,nodelete
libgpufifo_la_SOURCES += \
    device/emulated.c \
    device/emulated.h \
    device/emulated_arena.c \
    device/emulated_arena.h \
    device/emulated_copy.c \
    device/emulated_copy.h \
    device/emulated_device.c \
    device/emulated_ipc.c \
    device/emulated_ipc.h \
    device/emulated_launch.c \
    device/emulated_launch.h \
    device/emulated_kept.c device/emulated_kept.h \
    device/emulated_memory.c \
    device/emulated_memory.h \
    device/emulated_options.c \
    device/emulated_options.h \
    device/emulated_pool.c \
    device/emulated_pool.h \
    device/emulated_registered.c \
    device/emulated_registered.h \
    device/emulated_solo.c \
    device/emulated_solo.h \
    device/emulated_state.h \
    device/emulated_stream.c \
    device/emulated_stream.h

# The CUDA adaptor reads cuda.h for its types and opens the driver at run time: nothing is linked.
if HAVE_CUDA_H
libgpufifo_la_SOURCES += \
    device/cuda.c \
    device/cuda_context.c \
    device/cuda_copy.c \
    device/cuda_device.h \
    device/cuda_dmabuf.c \
    device/cuda_driver.c \
    device/cuda_driver.h \
    device/cuda_fd.c \
    device/cuda_ipc.c \
    device/cuda_launch.c \
    device/cuda_lines.c \
    device/cuda_memory.c \
    device/cuda_census.c \
    device/cuda_stream.c \
    device/cuda_vmm.c
endif
