# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of core, transports and the host-sequenced executor, with forked ranks (tests/support).
if HAVE_CMOCKA
libgftest_la_SOURCES += \
    tests/support/core_comm.c tests/support/core_comm.h \
    tests/support/ranks.c tests/support/ranks.h \
    tests/unit/scalar.c tests/unit/scalar.h
tests_core_libs = libgftest.la libgfcore.la libgpufifo.la $(CMOCKA_LIBS)

tests_core_programs = \
    tests/unit/test_connector \
    tests/unit/test_core_allreduce \
    tests/unit/test_core_peers \
    tests/unit/test_plan \
    tests/unit/test_segment
check_PROGRAMS += $(tests_core_programs)
TESTS += $(tests_core_programs)

tests_unit_test_connector_SOURCES = tests/unit/test_connector.c
tests_unit_test_connector_LDADD = $(tests_core_libs)
tests_unit_test_core_allreduce_SOURCES = tests/unit/test_core_allreduce.c
tests_unit_test_core_allreduce_LDADD = $(tests_core_libs)
tests_unit_test_core_peers_SOURCES = tests/unit/test_core_peers.c
tests_unit_test_core_peers_LDADD = $(tests_core_libs)
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c
tests_unit_test_plan_LDADD = $(tests_core_libs)
tests_unit_test_segment_SOURCES = tests/unit/test_segment.c
tests_unit_test_segment_LDADD = $(tests_core_libs)
endif
