# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that run under mpirun, and the scripts that run them with every path forced. docs/testing.md says which case is where.

mpi_test_cppflags = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
mpi_test_libs = tests/mpi/libmpitest.la libgpufifo.la $(MPI_LIBS) -lm -ldl

check_LTLIBRARIES += tests/mpi/libmpitest.la
tests_mpi_libmpitest_la_SOURCES = tests/mpi/harness.c tests/mpi/harness.h tests/mpi/values.c tests/mpi/values.h \
    tests/mpi/parts.c tests/mpi/parts.h examples/paths.c examples/paths.h
tests_mpi_libmpitest_la_CPPFLAGS = $(mpi_test_cppflags)

check_PROGRAMS += tests/mpi/test_allreduce
tests_mpi_test_allreduce_SOURCES = tests/mpi/test_allreduce.c
tests_mpi_test_allreduce_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_allreduce_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/test_order
tests_mpi_test_order_SOURCES = tests/mpi/test_order.c
tests_mpi_test_order_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_order_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/test_zerocopy
tests_mpi_test_zerocopy_SOURCES = tests/mpi/test_zerocopy.c
tests_mpi_test_zerocopy_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_zerocopy_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/zerocopy.sh
dist_check_SCRIPTS += tests/mpi/zerocopy.sh

check_PROGRAMS += tests/mpi/test_exchange
tests_mpi_test_exchange_SOURCES = tests/mpi/test_exchange.c tests/mpi/exchange_call.c tests/mpi/exchange_call.h \
    tests/mpi/exchange_run.c tests/mpi/stage_collectives.c tests/mpi/stage_collectives.h
tests_mpi_test_exchange_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_exchange_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_flight
tests_mpi_test_flight_SOURCES = tests/mpi/test_flight.c tests/mpi/flight_call.c tests/mpi/flight_call.h tests/mpi/named_copy.c \
    tests/mpi/stage_collectives.c tests/mpi/stage_collectives.h
tests_mpi_test_flight_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_flight_LDADD = $(mpi_test_libs)
tests_mpi_test_flight_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
check_PROGRAMS += tests/mpi/test_call_costs
tests_mpi_test_call_costs_SOURCES = tests/mpi/test_call_costs.c tests/mpi/stage_collectives.c tests/mpi/stage_collectives.h
tests_mpi_test_call_costs_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_call_costs_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_flight_first
tests_mpi_test_flight_first_SOURCES = tests/mpi/test_flight_first.c tests/mpi/flight_call.c tests/mpi/flight_call.h \
    tests/mpi/named_copy.c tests/mpi/stage_collectives.c tests/mpi/stage_collectives.h
tests_mpi_test_flight_first_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_flight_first_LDADD = $(mpi_test_libs)
tests_mpi_test_flight_first_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
TESTS += tests/mpi/call_costs.sh tests/mpi/exchange.sh
dist_check_SCRIPTS += tests/mpi/call_costs.sh tests/mpi/exchange.sh

check_PROGRAMS += tests/mpi/test_reductions
tests_mpi_test_reductions_SOURCES = tests/mpi/test_reductions.c
tests_mpi_test_reductions_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_reductions_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/test_memory
tests_mpi_test_memory_SOURCES = tests/mpi/test_memory.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_memory_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_memory_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/memory.sh
dist_check_SCRIPTS += tests/mpi/memory.sh

check_PROGRAMS += tests/mpi/test_mixed
tests_mpi_test_mixed_SOURCES = tests/mpi/test_mixed.c
tests_mpi_test_mixed_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_mixed_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/bad_input
tests_mpi_bad_input_SOURCES = tests/mpi/bad_input.c
tests_mpi_bad_input_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_bad_input_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/other_version
tests_mpi_other_version_SOURCES = tests/mpi/other_version.c
tests_mpi_other_version_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_other_version_LDADD = $(MPI_LIBS)

check_PROGRAMS += tests/mpi/case_01_30_nonblocking
tests_mpi_case_01_30_nonblocking_SOURCES = tests/mpi/case_01_30_nonblocking.c
tests_mpi_case_01_30_nonblocking_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_01_30_nonblocking_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_02_reduce_local
tests_mpi_case_02_reduce_local_SOURCES = tests/mpi/case_02_reduce_local.c
tests_mpi_case_02_reduce_local_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_02_reduce_local_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_04_self_copy
tests_mpi_case_04_self_copy_SOURCES = tests/mpi/case_04_self_copy.c
tests_mpi_case_04_self_copy_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_04_self_copy_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_13_before_init
tests_mpi_case_13_before_init_SOURCES = tests/mpi/case_13_before_init.c
tests_mpi_case_13_before_init_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_13_before_init_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_15_free
tests_mpi_case_15_free_SOURCES = tests/mpi/case_15_free.c
tests_mpi_case_15_free_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_15_free_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_14_reuse
tests_mpi_case_14_reuse_SOURCES = tests/mpi/case_14_reuse.c
tests_mpi_case_14_reuse_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_14_reuse_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_18_threads
tests_mpi_case_18_threads_SOURCES = tests/mpi/case_18_threads.c
tests_mpi_case_18_threads_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_18_threads_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_20_end
tests_mpi_case_20_end_SOURCES = tests/mpi/case_20_end.c
tests_mpi_case_20_end_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_20_end_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_21_large
tests_mpi_case_21_large_SOURCES = tests/mpi/case_21_large.c
tests_mpi_case_21_large_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_21_large_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_28_fork
tests_mpi_case_28_fork_SOURCES = tests/mpi/case_28_fork.c
tests_mpi_case_28_fork_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_28_fork_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/case_29_zero
tests_mpi_case_29_zero_SOURCES = tests/mpi/case_29_zero.c
tests_mpi_case_29_zero_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_case_29_zero_LDADD = $(mpi_test_libs)

mpi_test_scripts = tests/mpi/agent.sh tests/mpi/allreduce_paths.sh tests/mpi/allreduce_variants.sh tests/mpi/mixed.sh \
    tests/mpi/cases.sh tests/mpi/bad_input.sh
TESTS += $(mpi_test_scripts)
dist_check_SCRIPTS += $(mpi_test_scripts) tests/mpi/run_mpi.sh

# Under a sanitizer gigabytes take too long, and malloc does not tell what it has given; examples and benchmarks call what the
# tests above call, and reductions what tests/unit and tests/property call.
mpi_plain_scripts = tests/mpi/examples.sh tests/mpi/bench.sh tests/mpi/bench_plot.sh tests/mpi/large.sh tests/mpi/leaks.sh \
    tests/mpi/reductions.sh
if !GF_SANITIZE
TESTS += $(mpi_plain_scripts)
endif
dist_check_SCRIPTS += $(mpi_plain_scripts)
EXTRA_DIST += tests/mpi/runs.sh tests/mpi/environment.sh

# Staged collectives: every one, in every form.
stage_test_sources = tests/mpi/stage_case.c tests/mpi/stage_case.h tests/mpi/stage_plan.c tests/mpi/stage_plan.h \
    tests/mpi/stage_collectives.c tests/mpi/stage_collectives.h tests/mpi/stage_types.c tests/mpi/stage_types.h \
    tests/mpi/stage_memory.c tests/mpi/stage_memory.h tests/mpi/stage_peers.c tests/mpi/stage_peers.h \
    tests/mpi/stage_comms.c tests/mpi/stage_comms.h
check_PROGRAMS += tests/mpi/test_full
tests_mpi_test_full_SOURCES = tests/mpi/test_full.c
tests_mpi_test_full_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_full_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/test_stage
tests_mpi_test_stage_SOURCES = tests/mpi/test_stage.c $(stage_test_sources)
tests_mpi_test_stage_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_stage_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_stage_flight
tests_mpi_test_stage_flight_SOURCES = tests/mpi/test_stage_flight.c $(stage_test_sources)
tests_mpi_test_stage_flight_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_stage_flight_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_leaks
tests_mpi_test_leaks_SOURCES = tests/mpi/test_leaks.c tests/mpi/resources.c tests/mpi/resources.h \
    tests/mpi/stage_collectives.c tests/mpi/stage_collectives.h
tests_mpi_test_leaks_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_leaks_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/stage.sh tests/mpi/streams.sh
dist_check_SCRIPTS += tests/mpi/stage.sh tests/mpi/streams.sh

# The agreement between ranks with host and with device buffers.
check_PROGRAMS += tests/mpi/test_agree_freed
tests_mpi_test_agree_freed_SOURCES = tests/mpi/test_agree_freed.c
tests_mpi_test_agree_freed_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_agree_freed_LDADD = $(mpi_test_libs)

check_PROGRAMS += tests/mpi/test_agree
tests_mpi_test_agree_SOURCES = tests/mpi/test_agree.c
tests_mpi_test_agree_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_agree_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/agree.sh
dist_check_SCRIPTS += tests/mpi/agree.sh

# Derived datatypes.
typed_test_sources = tests/mpi/typed.c tests/mpi/typed.h tests/mpi/random_types.c tests/mpi/random_types.h
check_PROGRAMS += tests/mpi/test_pack
tests_mpi_test_pack_SOURCES = tests/mpi/test_pack.c $(typed_test_sources)
tests_mpi_test_pack_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pack_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pack_life
tests_mpi_test_pack_life_SOURCES = tests/mpi/test_pack_life.c $(typed_test_sources)
tests_mpi_test_pack_life_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pack_life_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/pack.sh
dist_check_SCRIPTS += tests/mpi/pack.sh

# Point-to-point.
check_PROGRAMS += tests/mpi/test_pt2pt
tests_mpi_test_pt2pt_SOURCES = tests/mpi/test_pt2pt.c tests/mpi/pt2pt_requests.c tests/mpi/pt2pt_requests.h \
    tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_types
tests_mpi_test_pt2pt_types_SOURCES = tests/mpi/test_pt2pt_types.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_types_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_types_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_stress
tests_mpi_test_pt2pt_stress_SOURCES = tests/mpi/test_pt2pt_stress.c tests/mpi/stress.h tests/mpi/stress_plan.c \
    tests/mpi/stress_calls.c tests/mpi/stress_match.c tests/mpi/stress_exchange.c tests/mpi/stress_complete.c \
    tests/mpi/stress_placed.c tests/mpi/stress_placed.h tests/mpi/random_types.c tests/mpi/random_types.h \
    tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_stress_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_stress_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_absent
tests_mpi_test_pt2pt_absent_SOURCES = tests/mpi/test_pt2pt_absent.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_absent_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_absent_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_absent
tests_mpi_test_absent_SOURCES = tests/mpi/test_absent.c
tests_mpi_test_absent_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_absent_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_self
tests_mpi_test_pt2pt_self_SOURCES = tests/mpi/test_pt2pt_self.c
tests_mpi_test_pt2pt_self_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_self_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_open
tests_mpi_test_pt2pt_open_SOURCES = tests/mpi/test_pt2pt_open.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_open_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_open_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_pull
tests_mpi_test_pt2pt_pull_SOURCES = tests/mpi/test_pt2pt_pull.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_pull_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_pull_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_pipe
tests_mpi_test_pt2pt_pipe_SOURCES = tests/mpi/test_pt2pt_pipe.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_pipe_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_pipe_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_partitioned
tests_mpi_test_pt2pt_partitioned_SOURCES = tests/mpi/test_pt2pt_partitioned.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_partitioned_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_partitioned_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_table
tests_mpi_test_pt2pt_table_SOURCES = tests/mpi/test_pt2pt_table.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_table_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_table_LDADD = $(mpi_test_libs)
check_LTLIBRARIES += tests/mpi/called_directly/mca_coll_gpufifo.la
tests_mpi_called_directly_mca_coll_gpufifo_la_SOURCES = tests/mpi/called_directly.c
tests_mpi_called_directly_mca_coll_gpufifo_la_CPPFLAGS = $(mca_coll_gpufifo_la_CPPFLAGS)
tests_mpi_called_directly_mca_coll_gpufifo_la_CFLAGS = $(mca_coll_gpufifo_la_CFLAGS)
tests_mpi_called_directly_mca_coll_gpufifo_la_LDFLAGS = $(mca_coll_gpufifo_la_LDFLAGS) -rpath $(abs_builddir)
tests_mpi_called_directly_mca_coll_gpufifo_la_LIBADD = $(filter-out %interpose.lo,$(mca_coll_gpufifo_la_OBJECTS)) \
    $(mca_coll_gpufifo_la_LIBADD)
tests_mpi_called_directly_mca_coll_gpufifo_la_DEPENDENCIES = mca_coll_gpufifo.la
TESTS += tests/mpi/pt2pt_table.sh
dist_check_SCRIPTS += tests/mpi/pt2pt_table.sh
check_PROGRAMS += tests/mpi/test_pt2pt_early
tests_mpi_test_pt2pt_early_SOURCES = tests/mpi/test_pt2pt_early.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_early_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_early_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_failed
tests_mpi_test_pt2pt_failed_SOURCES = tests/mpi/test_pt2pt_failed.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h \
    tests/mpi/resources.c tests/mpi/resources.h
tests_mpi_test_pt2pt_failed_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_failed_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_pt2pt_errors
tests_mpi_test_pt2pt_errors_SOURCES = tests/mpi/test_pt2pt_errors.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_errors_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_errors_LDADD = $(mpi_test_libs)
check_PROGRAMS += tests/mpi/test_told
tests_mpi_test_told_SOURCES = tests/mpi/test_told.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_told_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_told_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/pt2pt.sh tests/mpi/pt2pt_stress.sh tests/mpi/pt2pt_pipe.sh tests/mpi/told.sh
dist_check_SCRIPTS += tests/mpi/pt2pt.sh tests/mpi/pt2pt_stress.sh tests/mpi/pt2pt_pipe.sh tests/mpi/told.sh \
    tests/mpi/odd_noipc.sh tests/mpi/own_gpu.sh tests/mpi/own_pids.sh
TESTS += tests/mpi/nodes.sh tests/mpi/agree_nodes.sh tests/mpi/net.sh tests/mpi/between.sh tests/mpi/differ.sh
dist_check_SCRIPTS += tests/mpi/nodes.sh tests/mpi/agree_nodes.sh tests/mpi/net.sh tests/mpi/between.sh tests/mpi/differ.sh \
    tests/mpi/own_node.sh tests/mpi/own_setting.sh
check_PROGRAMS += tests/mpi/test_pt2pt_probe
tests_mpi_test_pt2pt_probe_SOURCES = tests/mpi/test_pt2pt_probe.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_probe_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_probe_LDADD = $(mpi_test_libs)

# The suite of another project, with this component: once is enough, without a sanitizer.
if !GF_SANITIZE
TESTS += tests/mpi/mpi4py_suite.sh
endif
dist_check_SCRIPTS += tests/mpi/mpi4py_suite.sh tests/mpi/mpi4py_suite.py

# One-sided communication.
check_PROGRAMS += tests/mpi/test_onesided
tests_mpi_test_onesided_SOURCES = tests/mpi/test_onesided.c
tests_mpi_test_onesided_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_onesided_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/onesided.sh
dist_check_SCRIPTS += tests/mpi/onesided.sh
check_PROGRAMS += tests/mpi/test_pt2pt_legal
tests_mpi_test_pt2pt_legal_SOURCES = tests/mpi/test_pt2pt_legal.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_legal_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_legal_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/pt2pt_legal.sh tests/mpi/pt2pt_agent.sh
dist_check_SCRIPTS += tests/mpi/pt2pt_legal.sh tests/mpi/pt2pt_agent.sh
check_PROGRAMS += tests/mpi/test_pt2pt_spawn
tests_mpi_test_pt2pt_spawn_SOURCES = tests/mpi/test_pt2pt_spawn.c tests/mpi/pt2pt_buffers.c tests/mpi/pt2pt_buffers.h
tests_mpi_test_pt2pt_spawn_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_test_pt2pt_spawn_LDADD = $(mpi_test_libs)
TESTS += tests/mpi/pt2pt_spawn.sh
dist_check_SCRIPTS += tests/mpi/pt2pt_spawn.sh

# Threads and messages.
if GF_SANITIZE
TESTS += tests/mpi/pt2pt_thread.sh
endif
THREAD_TESTS += tests/mpi/pt2pt_thread.sh
THREAD_NEEDS += tests/mpi/test_pt2pt_probe tests/mpi/test_pt2pt_stress tests/mpi/test_flight tests/mpi/test_flight_first
dist_check_SCRIPTS += tests/mpi/pt2pt_thread.sh
EXTRA_DIST += tests/mpi/tsan.supp

# In the place of NCCL and of the CUDA driver, for gpufifo-bench --library nccl; bench.sh.
check_LTLIBRARIES += tests/mpi/stand_in/libnccl.la tests/mpi/stand_in/libcuda.la
stand_in_flags = $(AM_LDFLAGS) -shared -rpath /nowhere -version-info
tests_mpi_stand_in_libnccl_la_SOURCES = tests/mpi/stand_in/nccl.c
tests_mpi_stand_in_libnccl_la_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_stand_in_libnccl_la_LDFLAGS = $(stand_in_flags) 2:0:0
tests_mpi_stand_in_libnccl_la_LIBADD = $(MPI_LIBS)
tests_mpi_stand_in_libcuda_la_SOURCES = tests/mpi/stand_in/cuda.c
tests_mpi_stand_in_libcuda_la_LDFLAGS = $(stand_in_flags) 1:0:0
