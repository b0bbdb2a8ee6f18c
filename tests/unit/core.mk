# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of core, transports and the host-sequenced executor, with forked ranks (tests/support).
if HAVE_CMOCKA
libgftest_la_SOURCES += \
    tests/support/core_comm.c tests/support/core_comm.h \
    tests/support/messages.c tests/support/messages.h \
    tests/support/ranks.c tests/support/ranks.h tests/support/descriptors.h \
    tests/support/soft_private.h tests/support/soft_receive.c tests/support/soft_wire.c tests/support/soft_wire.h \
    tests/unit/scalar.c tests/unit/scalar.h
tests_core_libs = libgftest.la libgfcore.la libgpufifo.la $(CMOCKA_LIBS)

tests_core_programs = \
    tests/unit/test_agent \
    tests/unit/test_agent_post \
    tests/unit/test_carrier \
    tests/unit/test_carrier_flush \
    tests/unit/test_carrier_trouble \
    tests/unit/test_connector \
    tests/unit/test_copied \
    tests/unit/test_core_agent \
    tests/unit/test_core_allreduce \
    tests/unit/test_core_copied \
    tests/unit/test_core_filled \
    tests/unit/test_core_life \
    tests/unit/test_core_net \
    tests/unit/test_core_nodes \
    tests/unit/test_core_peers \
    tests/unit/test_core_reduce \
    tests/unit/test_core_sweep \
    tests/unit/test_core_setup \
    tests/unit/test_core_trouble \
    tests/unit/test_exports \
    tests/unit/test_flat \
    tests/unit/test_familiar \
    tests/unit/test_linger \
    tests/unit/test_mapped_call \
    tests/unit/test_net \
    tests/unit/test_net_buffers \
    tests/unit/test_net_memory \
    tests/unit/test_net_trouble \
    tests/unit/test_pipe \
    tests/unit/test_offers \
    tests/unit/test_plan \
    tests/unit/test_plan_ways \
    tests/unit/test_proxy \
    tests/unit/test_pull \
    tests/unit/test_pull_plan \
    tests/unit/test_bulletin \
    tests/unit/test_registry \
    tests/unit/test_rescue \
    tests/unit/test_segment \
    tests/unit/test_tuning \
    tests/unit/test_tuning_smooth \
    tests/unit/test_tuning_read
check_PROGRAMS += $(tests_core_programs) tests/unit/setup_figures
TESTS += $(tests_core_programs) tests/unit/scaling.sh
# The pump's thread and the caller's.
THREAD_TESTS += tests/unit/test_carrier tests/unit/test_carrier_trouble tests/unit/test_pipe
# The proxy's thread, a copy engine and two that play kernels.
THREAD_TESTS += tests/unit/test_copied tests/unit/test_net tests/unit/test_net_trouble tests/unit/test_proxy
THREAD_TESTS += tests/unit/test_bulletin

tests_unit_test_flat_SOURCES = tests/unit/test_flat.c
tests_unit_test_flat_LDADD = $(tests_core_libs)
tests_unit_test_connector_SOURCES = tests/unit/test_connector.c
tests_unit_test_connector_LDADD = $(tests_core_libs)
# Their copied_device.c stands in for transport/part.c, and they for proxy/place.c.
tests_played_sources = tests/unit/copied_device.c tests/unit/copied_device.h tests/unit/fifo_play.c tests/unit/fifo_play.h
tests_net_sources = tests/unit/net_world.c tests/unit/net_world.h $(tests_played_sources)
tests_unit_test_copied_SOURCES = tests/unit/test_copied.c $(tests_played_sources)
tests_unit_test_copied_LDADD = $(tests_core_libs)
tests_unit_test_net_SOURCES = tests/unit/test_net.c tests/unit/net_counts.c tests/unit/net_counts.h $(tests_net_sources)
tests_unit_test_net_LDADD = $(tests_core_libs)
tests_unit_test_net_buffers_SOURCES = tests/unit/test_net_buffers.c
tests_unit_test_net_buffers_LDADD = $(tests_core_libs)
# With gdrcopy's library, or what stands in for it.
tests_gdrapi_sources = tests/support/gdrapi.c tests/support/gdrapi.h tests/support/fake_gdrapi.h
tests_unit_test_net_memory_SOURCES = tests/unit/test_net_memory.c $(tests_gdrapi_sources) $(tests_net_sources)
tests_unit_test_net_memory_LDADD = $(tests_core_libs) -ldl
check_LTLIBRARIES += tests/support/libgdrapi.la
tests_support_libgdrapi_la_SOURCES = tests/support/fake_gdrapi.c tests/support/fake_gdrapi.h
tests_support_libgdrapi_la_LDFLAGS = $(AM_LDFLAGS) -version-info 2:0:0 -shared -rpath /nowhere
tests_unit_test_net_trouble_SOURCES = tests/unit/test_net_trouble.c $(tests_net_sources)
tests_unit_test_net_trouble_LDADD = $(tests_core_libs)
tests_carrier_sources = tests/unit/carrier_world.c tests/unit/carrier_world.h $(tests_played_sources)
tests_unit_test_carrier_SOURCES = tests/unit/test_carrier.c $(tests_carrier_sources)
tests_unit_test_carrier_flush_SOURCES = tests/unit/test_carrier_flush.c $(tests_gdrapi_sources) $(tests_carrier_sources)
tests_unit_test_carrier_flush_LDADD = $(tests_core_libs) -ldl
tests_unit_test_carrier_trouble_SOURCES = tests/unit/test_carrier_trouble.c $(tests_carrier_sources)
tests_unit_test_carrier_trouble_LDADD = $(tests_core_libs)
tests_unit_test_carrier_LDADD = $(tests_core_libs)
tests_unit_test_agent_SOURCES = tests/unit/test_agent.c tests/unit/agent_device.c tests/unit/agent_device.h
tests_unit_test_agent_LDADD = $(tests_core_libs)
tests_unit_test_agent_post_SOURCES = tests/unit/test_agent_post.c
tests_unit_test_agent_post_LDADD = $(tests_core_libs)
tests_unit_test_core_agent_SOURCES = tests/unit/test_core_agent.c
tests_unit_test_core_agent_LDADD = $(tests_core_libs)
tests_unit_test_core_filled_SOURCES = tests/unit/test_core_filled.c
tests_unit_test_core_filled_LDADD = $(tests_core_libs)
tests_unit_test_exports_SOURCES = tests/unit/test_exports.c
tests_unit_test_exports_LDADD = $(tests_core_libs)
tests_unit_test_familiar_SOURCES = tests/unit/test_familiar.c
tests_unit_test_familiar_LDADD = $(tests_core_libs)
tests_unit_test_linger_SOURCES = tests/unit/test_linger.c
tests_unit_test_linger_LDADD = $(tests_core_libs)
tests_unit_test_mapped_call_SOURCES = tests/unit/test_mapped_call.c
tests_unit_test_mapped_call_LDADD = $(tests_core_libs)
tests_unit_test_core_allreduce_SOURCES = tests/unit/test_core_allreduce.c
tests_unit_test_core_allreduce_LDADD = $(tests_core_libs)
tests_unit_test_core_copied_SOURCES = tests/unit/test_core_copied.c
tests_unit_test_core_copied_LDADD = $(tests_core_libs)
tests_unit_test_core_net_SOURCES = tests/unit/test_core_net.c
tests_unit_test_core_net_LDADD = $(tests_core_libs)
tests_unit_test_core_life_SOURCES = tests/unit/test_core_life.c
tests_unit_test_core_life_LDADD = $(tests_core_libs)
tests_unit_test_core_nodes_SOURCES = tests/unit/test_core_nodes.c
tests_unit_test_core_nodes_LDADD = $(tests_core_libs)
tests_unit_test_core_peers_SOURCES = tests/unit/test_core_peers.c
tests_unit_test_core_peers_LDADD = $(tests_core_libs)
tests_unit_test_core_reduce_SOURCES = tests/unit/test_core_reduce.c
tests_unit_test_core_reduce_LDADD = $(tests_core_libs)
# Its objects come before those of the same name in the libraries; the kernels are those of kernels.mk with small limits.
tests_unit_test_core_sweep_SOURCES = tests/unit/test_core_sweep.c core/command_ring.c core/one_shot.c core/played.c
tests_unit_test_core_sweep_CPPFLAGS = $(AM_CPPFLAGS) $(small_limits)
tests_unit_test_core_sweep_LDADD = kernels/tests_unit_libgfsmall_la-kernels_emulated.lo $(tests_core_libs)
tests_unit_test_core_setup_SOURCES = tests/unit/test_core_setup.c
tests_unit_test_core_setup_LDADD = $(tests_core_libs)
tests_unit_test_core_trouble_SOURCES = tests/unit/test_core_trouble.c
tests_unit_test_core_trouble_LDADD = $(tests_core_libs)
tests_unit_test_pipe_SOURCES = tests/unit/test_pipe.c
tests_unit_test_pipe_LDADD = $(tests_core_libs)
tests_unit_test_offers_SOURCES = tests/unit/test_offers.c
tests_unit_test_offers_LDADD = $(tests_core_libs)
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c tests/unit/plan_input.h
tests_unit_test_plan_LDADD = $(tests_core_libs)
tests_unit_test_plan_ways_SOURCES = tests/unit/test_plan_ways.c tests/unit/plan_input.h
tests_unit_test_plan_ways_LDADD = $(tests_core_libs)
tests_unit_test_proxy_SOURCES = tests/unit/test_proxy.c
tests_unit_test_proxy_LDADD = $(tests_core_libs)
tests_unit_test_proxy_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_mutex_lock
tests_unit_test_pull_SOURCES = tests/unit/test_pull.c
tests_unit_test_pull_LDADD = $(tests_core_libs)
tests_unit_test_pull_plan_SOURCES = tests/unit/test_pull_plan.c
tests_unit_test_pull_plan_LDADD = $(tests_core_libs)
tests_unit_test_bulletin_SOURCES = tests/unit/test_bulletin.c
tests_unit_test_bulletin_LDADD = $(tests_core_libs)
tests_unit_test_registry_SOURCES = tests/unit/test_registry.c
tests_unit_test_registry_LDADD = $(tests_core_libs)
tests_unit_test_rescue_SOURCES = tests/unit/test_rescue.c
tests_unit_test_rescue_LDADD = $(tests_core_libs)
tests_unit_test_segment_SOURCES = tests/unit/test_segment.c
tests_unit_test_segment_LDADD = $(tests_core_libs)
tests_unit_test_tuning_smooth_SOURCES = tests/unit/test_tuning_smooth.c tests/unit/plan_input.h bench/cliffs.c \
    bench/cliffs.h
tests_unit_test_tuning_smooth_LDADD = $(tests_core_libs)
tests_unit_test_tuning_SOURCES = tests/unit/test_tuning.c tests/unit/plan_input.h
tests_unit_test_tuning_LDADD = $(tests_core_libs)
tests_unit_test_tuning_read_SOURCES = tests/unit/test_tuning_read.c
tests_unit_test_tuning_read_LDADD = $(tests_core_libs)
tests_unit_setup_figures_SOURCES = tests/unit/setup_figures.c
tests_unit_setup_figures_LDADD = $(tests_core_libs)
if HAVE_VERBS
check_PROGRAMS += tests/unit/test_near tests/unit/test_adapters
TESTS += tests/unit/test_near tests/unit/test_adapters
tests_unit_test_near_SOURCES = tests/unit/test_near.c
tests_unit_test_near_LDADD = $(tests_core_libs)
tests_unit_test_adapters_SOURCES = tests/unit/test_adapters.c
tests_unit_test_adapters_LDADD = $(tests_core_libs)
endif
endif
EXTRA_DIST += tests/unit/near.xml
dist_check_SCRIPTS += tests/unit/scaling.sh
