# SPDX-License-Identifier: BSD-3-Clause
#
# gpufifo-bench is installed; host_overhead is run by host_overhead.sh.
bin_PROGRAMS += gpufifo-bench
gpufifo_bench_SOURCES = bench/gpufifo_bench.c bench/options.c bench/options.h bench/measure.c bench/measure.h bench/test.h \
    bench/reduction.c bench/exchange.c bench/pt2pt.c bench/report.c bench/report.h bench/output.c bench/output.h \
    bench/folder.c bench/folder.h bench/side.c bench/side.h bench/compare.c bench/compare.h bench/cliffs.c bench/cliffs.h \
    bench/lines.c bench/lines.h bench/plot.c bench/plot.h bench/plotter.c bench/plotter.h bench/mechanisms.c bench/mechanisms.h \
    bench/samples.c bench/samples.h bench/table.c bench/table.h bench/tune.c bench/tune.h bench/nccl.c bench/nccl.h \
    examples/paths.c examples/paths.h
gpufifo_bench_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -DGF_PLOT_SCRIPT='"$(pkgdatadir)/plot.py"'
gpufifo_bench_LDADD = libgpufifo.la $(MPI_LIBS) -ldl

noinst_PROGRAMS += bench/host_overhead
bench_host_overhead_SOURCES = bench/host_overhead.c bench/samples.c bench/samples.h
bench_host_overhead_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
bench_host_overhead_LDADD = $(MPI_LIBS)

# --plot has it run.
dist_pkgdata_DATA = bench/plot.py

EXTRA_DIST += bench/host_overhead.sh bench/scaling.py bench/scaling.json

# What wires between nodes can do; wire_bench.sh compares.
noinst_PROGRAMS += bench/wire_bench
bench_wire_bench_SOURCES = bench/wire_bench.c
bench_wire_bench_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_wire_bench_LDADD = libgfcore.la libgpufifo.la
EXTRA_DIST += bench/wire_bench.sh
