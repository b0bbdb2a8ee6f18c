# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of the kernels on host threads. Most are linked with kernels whose limits are soon reached: flags of LL lines that run
# out, parts of a datatype that are long. mutants.sh builds them with faults.
if HAVE_CMOCKA
tests_kernels_programs = tests/unit/test_reduce tests/unit/test_protocol tests/unit/test_pull_kernel \
    tests/unit/test_agent_kernel tests/unit/test_pack_kernel
check_PROGRAMS += $(tests_kernels_programs)
TESTS += $(tests_kernels_programs)
THREAD_TESTS += tests/unit/test_protocol tests/unit/test_pull_kernel tests/unit/test_agent_kernel tests/unit/test_pack_kernel

check_LTLIBRARIES += tests/unit/libgfsmall.la
tests_unit_libgfsmall_la_SOURCES = $(kernel_sources) base/types.c
tests_unit_libgfsmall_la_CPPFLAGS = $(AM_CPPFLAGS) $(small_limits)
tests_unit_libgfsmall_la_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
small_limits = -DGF_LL_FLAG_BITS=8 -DGF_PACK_WIDE=3000

tests_unit_test_reduce_SOURCES = tests/unit/test_reduce.c tests/unit/scalar.c tests/unit/scalar.h
tests_unit_test_reduce_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
tests_unit_test_reduce_LDADD = libgpufifo.la $(CMOCKA_LIBS) -lm

tests_unit_test_protocol_SOURCES = tests/unit/test_protocol.c \
    tests/unit/scalar.c tests/unit/scalar.h tests/unit/stream.c tests/unit/stream.h tests/unit/world.c tests/unit/world.h
tests_unit_test_protocol_CPPFLAGS = $(AM_CPPFLAGS) $(small_limits)
tests_unit_test_protocol_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
tests_unit_test_protocol_LDADD = tests/unit/libgfsmall.la $(CMOCKA_LIBS) -lm

tests_unit_test_pull_kernel_SOURCES = tests/unit/test_pull_kernel.c
tests_unit_test_pull_kernel_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
tests_unit_test_pull_kernel_LDADD = libgpufifo.la $(CMOCKA_LIBS) -lm

tests_unit_test_pack_kernel_SOURCES = tests/unit/test_pack_kernel.c core/flat.c core/pack_plan.c base/log.c base/status.c
tests_unit_test_pack_kernel_CPPFLAGS = $(AM_CPPFLAGS) $(small_limits)
tests_unit_test_pack_kernel_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
tests_unit_test_pack_kernel_LDADD = tests/unit/libgfsmall.la $(CMOCKA_LIBS) -lm

tests_unit_test_agent_kernel_SOURCES = tests/unit/test_agent_kernel.c tests/unit/agent_rank.c tests/unit/agent_rank.h \
    core/command_ring.c
tests_unit_test_agent_kernel_CPPFLAGS = $(AM_CPPFLAGS) $(small_limits)
tests_unit_test_agent_kernel_CFLAGS = $(AM_CFLAGS) $(kernel_cflags)
tests_unit_test_agent_kernel_LDADD = tests/unit/libgfsmall.la $(CMOCKA_LIBS) -lm

# It chooses its sanitizer itself.
if !GF_SANITIZE
TESTS += tests/unit/mutants.sh
endif
endif
dist_check_SCRIPTS += tests/unit/mutants.sh
