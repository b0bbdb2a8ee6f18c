# SPDX-License-Identifier: BSD-3-Clause
#
# Tests that need a GPU: built with the others, run by hand, by sections.
dist_check_SCRIPTS += tests/gpu/run.sh
EXTRA_DIST += \
    tests/gpu/common.sh \
    tests/gpu/sections/agent.sh \
    tests/gpu/sections/bench.sh \
    tests/gpu/sections/build.sh \
    tests/gpu/sections/cases.sh \
    tests/gpu/sections/collectives.sh \
    tests/gpu/sections/demo.sh \
    tests/gpu/sections/direct.sh \
    tests/gpu/sections/device.sh \
    tests/gpu/sections/fifo.sh \
    tests/gpu/sections/freed.sh \
    tests/gpu/sections/kernels.sh \
    tests/gpu/sections/latency.sh \
    tests/gpu/sections/ll128.sh \
    tests/gpu/sections/memory.sh \
    tests/gpu/sections/message.sh \
    tests/gpu/sections/mps.sh \
    tests/gpu/sections/ncu.sh \
    tests/gpu/sections/nomps.sh \
    tests/gpu/sections/overhead.sh \
    tests/gpu/sections/pack.sh \
    tests/gpu/sections/plot.sh \
    tests/gpu/sections/proxy.sh \
    tests/gpu/sections/pt2pt.sh \
    tests/gpu/sections/pt2pt-nomps.sh \
    tests/gpu/sections/pull.sh \
    tests/gpu/sections/rivals.sh \
    tests/gpu/sections/sanitizer.sh \
    tests/gpu/sections/several.sh \
    tests/gpu/sections/zerocopy.sh

tests_gpu_times = tests/gpu/times.h bench/samples.c bench/samples.h

if HAVE_CUDA_H
check_PROGRAMS += tests/gpu/test_cuda_device
tests_gpu_test_cuda_device_SOURCES = \
    tests/gpu/cuda_context_parts.c \
    tests/gpu/cuda_ipc_parts.c \
    tests/gpu/cuda_memory_parts.c \
    tests/gpu/gpu_test.c \
    tests/gpu/gpu_test.h \
    tests/gpu/test_cuda_device.c
tests_gpu_test_cuda_device_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_test_cuda_device_LDADD = libgpufifo.la -ldl

# Beside test_device_pack: what else packs.
check_PROGRAMS += tests/gpu/measure_pack
tests_gpu_measure_pack_SOURCES = tests/gpu/measure_pack.c tests/gpu/gpu_test.c tests/gpu/gpu_test.h $(tests_gpu_times)
tests_gpu_measure_pack_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_measure_pack_LDADD = libgpufifo.la -ldl
endif
dist_check_SCRIPTS += tests/gpu/mps.sh

# All kernels on one device, by one process: for compute-sanitizer. It also runs on the emulated device.
check_PROGRAMS += tests/gpu/test_device_kernels
tests_gpu_test_device_kernels_SOURCES = tests/gpu/test_device_kernels.c tests/gpu/kernel_ranks.c tests/gpu/kernel_ranks.h \
    tests/gpu/kernel_runs.c tests/unit/scalar.c tests/unit/scalar.h
tests_gpu_test_device_kernels_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
tests_gpu_test_device_kernels_LDADD = libgfcore.la libgpufifo.la -lm
check_PROGRAMS += tests/gpu/kernel_throughput
tests_gpu_kernel_throughput_SOURCES = tests/gpu/kernel_throughput.c tests/gpu/kernel_ranks.c tests/gpu/kernel_ranks.h \
    tests/gpu/kernel_runs.c $(tests_gpu_times)
tests_gpu_kernel_throughput_LDADD = libgfcore.la libgpufifo.la -ldl
EXTRA_DIST += tests/gpu/ncu_table.py
TESTS += tests/gpu/kernels.sh
dist_check_SCRIPTS += tests/gpu/kernels.sh

# Copies beside a kernel that waits. It also runs on the emulated device.
check_PROGRAMS += tests/gpu/test_device_copies
tests_gpu_test_device_copies_SOURCES = tests/gpu/test_device_copies.c
tests_gpu_test_device_copies_LDADD = libgpufifo.la
TESTS += tests/gpu/copies.sh
dist_check_SCRIPTS += tests/gpu/copies.sh tests/gpu/own_gpu.sh

# Packing, on one device by one process; and messages with gaps by size. The first also runs on the emulated device.
check_PROGRAMS += tests/gpu/test_device_pack tests/gpu/pack_latency
tests_gpu_test_device_pack_SOURCES = tests/gpu/test_device_pack.c $(tests_gpu_times)
tests_gpu_test_device_pack_CFLAGS = $(AM_CFLAGS)
tests_gpu_test_device_pack_LDADD = libgfcore.la libgpufifo.la
tests_gpu_pack_latency_SOURCES = tests/gpu/pack_latency.c $(tests_gpu_times)
tests_gpu_pack_latency_CPPFLAGS = $(mpi_test_cppflags)
tests_gpu_pack_latency_LDADD = $(mpi_test_libs)
TESTS += tests/gpu/pack.sh
dist_check_SCRIPTS += tests/gpu/pack.sh

# Messages between two processes, without MPI. It also runs on the emulated device.
check_PROGRAMS += tests/gpu/test_device_pull
tests_gpu_test_device_pull_SOURCES = \
    tests/gpu/pull_checks.c \
    tests/gpu/pull_first.c \
    tests/gpu/pull_measures.c \
    tests/gpu/pull_pair.c tests/gpu/pull_pair.h \
    tests/gpu/pull_programs.h \
    tests/gpu/test_device_pull.c $(tests_gpu_times) \
    tests/support/messages.c tests/support/messages.h tests/support/ranks.h
tests_gpu_test_device_pull_CFLAGS = $(AM_CFLAGS)
tests_gpu_test_device_pull_LDADD = libgfcore.la libgpufifo.la
TESTS += tests/gpu/pull.sh
dist_check_SCRIPTS += tests/gpu/pull.sh

check_PROGRAMS += tests/gpu/case_17_context
tests_gpu_case_17_context_SOURCES = tests/gpu/case_17_context.c
tests_gpu_case_17_context_CPPFLAGS = $(mpi_test_cppflags)
tests_gpu_case_17_context_LDADD = $(mpi_test_libs)

# Programs of several habits, with the agent and without. tests/mpi/agent.sh runs it on the emulated device.
check_PROGRAMS += tests/gpu/agent_habits
tests_gpu_agent_habits_SOURCES = tests/gpu/agent_habits.c
tests_gpu_agent_habits_CPPFLAGS = $(mpi_test_cppflags)
tests_gpu_agent_habits_LDADD = $(mpi_test_libs)
dist_check_SCRIPTS += tests/gpu/agent.sh

# The FIFO protocols between two kernels, without the library.
if GF_HAVE_NVCC
check_PROGRAMS += tests/gpu/measure_fifo
tests_gpu_measure_fifo_SOURCES = tests/gpu/measure_fifo.cu
tests_gpu_measure_fifo_LDADD = $(CUDART_LIBS)
tests/gpu/measure_fifo.$(OBJEXT): $(addprefix $(top_srcdir)/,$(kernel_headers))
else
EXTRA_DIST += tests/gpu/measure_fifo.cu
endif
