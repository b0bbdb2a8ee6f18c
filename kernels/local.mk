# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libgfkernels.la
libgpufifo_la_LIBADD += libgfkernels.la

kernel_headers = kernels/work.h kernels/team.h kernels/item.h kernels/mutants.h kernels/ordered.h kernels/ordered_cuda.h \
	kernels/ordered_host.h kernels/emulated_block.h kernels/emulated_table.h kernels/fifo.h kernels/ll.h kernels/ll128.h \
	kernels/agent.h kernels/agent_few.h kernels/agent_pull.h kernels/exchange.h kernels/simple.h kernels/reduce.h \
	kernels/allreduce.h kernels/allreduce_ll128.h \
	kernels/census.h kernels/local.h kernels/pack.h kernels/pull.h \
	kernels/ring.h kernels/ring_work.h kernels/task.h kernels/two_shot.h
kernel_sources = kernels/kernels_emulated.c kernels/emulated_block.c

# No fused multiply-add: results are to be those of the GPU build, to the bit.
kernel_cflags = -ffp-contract=off
libgfkernels_la_SOURCES = $(kernel_headers) $(kernel_sources)
libgfkernels_la_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)

# device/ builds this one with nvcc; it includes only the headers above and base/types.h.
EXTRA_DIST += kernels/kernels.cu
