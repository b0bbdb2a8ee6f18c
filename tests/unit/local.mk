# SPDX-License-Identifier: BSD-3-Clause
#
# Unit tests: cmocka programs of one process each.
if HAVE_CMOCKA
tests_unit_programs = tests/unit/test_base
check_PROGRAMS += $(tests_unit_programs)
TESTS += $(tests_unit_programs)

tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_LDADD = libgpufifo.la $(CMOCKA_LIBS)
endif
include tests/unit/cuda.mk
include tests/unit/emulated.mk
include tests/unit/core.mk
include tests/unit/kernels.mk
include tests/unit/component.mk
include tests/unit/wire.mk
