# SPDX-License-Identifier: BSD-3-Clause
#
# The CUDA adaptor on a fake driver, of which there are two: a whole one, and one too old.
if HAVE_CUDA_H
if HAVE_CMOCKA
check_LTLIBRARIES += tests/support/fake_cuda.la tests/support/fake_cuda_old.la
fake_cuda_flags = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_support_fake_cuda_la_SOURCES = tests/support/fake_cuda.c tests/support/fake_cuda.h tests/support/fake_cuda_private.h \
    tests/support/fake_cuda_memory.c tests/support/fake_cuda_vmm.c tests/support/fake_cuda_work.c
tests_support_fake_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_support_fake_cuda_la_LDFLAGS = $(fake_cuda_flags)
tests_support_fake_cuda_old_la_SOURCES = $(tests_support_fake_cuda_la_SOURCES)
tests_support_fake_cuda_old_la_CPPFLAGS = $(tests_support_fake_cuda_la_CPPFLAGS) -DFAKE_CUDA_VERSION=10020 \
    -DFAKE_CUDA_WITHOUT_UUID
tests_support_fake_cuda_old_la_LDFLAGS = $(fake_cuda_flags)

tests_cuda_programs = tests/unit/test_cuda_copy tests/unit/test_cuda_driver tests/unit/test_cuda_life tests/unit/test_cuda_lines \
    tests/unit/test_cuda_vmm tests/unit/test_imports
check_PROGRAMS += $(tests_cuda_programs)
TESTS += $(tests_cuda_programs)
fake_cuda_run_sources = tests/support/fake_cuda_run.c tests/support/fake_cuda_run.h
tests_unit_test_cuda_copy_SOURCES = tests/unit/test_cuda_copy.c $(fake_cuda_run_sources)
tests_unit_test_cuda_copy_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_cuda_copy_LDADD = libgpufifo.la $(CMOCKA_LIBS) -ldl
tests_unit_test_cuda_driver_SOURCES = tests/unit/test_cuda_driver.c $(fake_cuda_run_sources)
tests_unit_test_cuda_driver_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_cuda_driver_LDADD = libgpufifo.la $(CMOCKA_LIBS) -ldl
tests_unit_test_cuda_life_SOURCES = tests/unit/test_cuda_life.c $(fake_cuda_run_sources)
tests_unit_test_cuda_life_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_cuda_life_LDADD = libgpufifo.la $(CMOCKA_LIBS) -ldl
tests_unit_test_cuda_lines_SOURCES = tests/unit/test_cuda_lines.c $(fake_cuda_run_sources)
tests_unit_test_cuda_lines_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_cuda_lines_LDADD = libgpufifo.la $(CMOCKA_LIBS) -ldl
tests_unit_test_cuda_vmm_SOURCES = tests/unit/test_cuda_vmm.c $(fake_cuda_run_sources)
tests_unit_test_cuda_vmm_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_cuda_vmm_LDADD = libgpufifo.la $(CMOCKA_LIBS) -ldl

tests_unit_test_imports_SOURCES = tests/unit/test_imports.c $(fake_cuda_run_sources)
tests_unit_test_imports_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_imports_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS) -ldl
endif
endif
