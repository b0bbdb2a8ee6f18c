# SPDX-License-Identifier: BSD-3-Clause
#
# jacobi is the main job of demo.sh; the Python program is the second client. Both run uninstalled.
noinst_PROGRAMS += examples/jacobi
examples_jacobi_SOURCES = examples/jacobi.c examples/jacobi_host.c examples/jacobi_host.h examples/jacobi_kernels.h \
    examples/paths.c examples/paths.h
examples_jacobi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
examples_jacobi_LDADD = libgpufifo.la $(MPI_LIBS) -lm
EXTRA_DIST += examples/mpi4py_allreduce.py

# On a GPU the stencil is CUDA code of the example's own.
if GF_HAVE_NVCC
examples_jacobi_SOURCES += examples/jacobi_cuda.cu
examples_jacobi_CPPFLAGS += -DGF_HAVE_NVCC
examples_jacobi_LDADD += $(CUDART_LIBS)
endif
