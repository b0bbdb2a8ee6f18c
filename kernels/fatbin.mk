# SPDX-License-Identifier: BSD-3-Clause
#
# Kernels for GPUs: kernels.cu → a fat binary (machine code and PTX) → an object in libgpufifo. What ptxas says about registers
# and spills is kept in kernels/ptxas.log. Without nvcc the object says that there are no kernels.

EXTRA_DIST += kernels/kernels.cu
libgpufifo_la_SOURCES += kernels/fatbin.S
libgpufifo_la_CCASFLAGS = $(AM_CCASFLAGS)

if GF_HAVE_NVCC
kernels/kernels.fatbin: $(top_srcdir)/kernels/kernels.cu $(wildcard $(top_srcdir)/kernels/*.h) $(top_srcdir)/base/types.h
	$(AM_V_GEN)$(MKDIR_P) kernels && rm -f $@ && \
	if $(NVCC) $(NVCC_FLAGS) $(NVCC_GENCODE) -Xptxas -v -I$(top_srcdir) -fatbin -o $@ $(top_srcdir)/kernels/kernels.cu \
		> kernels/ptxas.log 2>&1; \
	then :; else cat kernels/ptxas.log >&2; exit 1; fi

# By a variable, since automake would take the plain name for a rule of ours in place of its own.
fatbin_object = kernels/libgpufifo_la-fatbin.lo
$(fatbin_object): kernels/kernels.fatbin
CLEANFILES += kernels/kernels.fatbin kernels/ptxas.log
endif
