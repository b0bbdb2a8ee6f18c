# SPDX-License-Identifier: BSD-3-Clause
#
# What needs verbs, in a virtual machine that has them. The programs run there without the scripts that libtool would wrap them in.
if HAVE_VERBS
if HAVE_CMOCKA
libgftest_la_SOURCES += tests/support/wire_pair.c tests/support/wire_pair.h
tests_vm_programs = tests/vm/test_verbs_wire tests/vm/test_verbs_trouble
check_PROGRAMS += $(tests_vm_programs)
tests_vm_libs = libgftest.la libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_vm_flags = $(AM_LDFLAGS) -no-install

tests_vm_test_verbs_wire_SOURCES = tests/vm/test_verbs_wire.c
tests_vm_test_verbs_wire_LDFLAGS = $(tests_vm_flags)
tests_vm_test_verbs_wire_LDADD = $(tests_vm_libs)
tests_vm_test_verbs_trouble_SOURCES = tests/vm/test_verbs_trouble.c
tests_vm_test_verbs_trouble_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
tests_vm_test_verbs_trouble_LDFLAGS = $(tests_vm_flags)
tests_vm_test_verbs_trouble_LDADD = $(tests_vm_libs)
TESTS += tests/vm/verbs.sh
endif
endif
dist_check_SCRIPTS += tests/vm/verbs.sh tests/vm/verbs_vm.sh
EXTRA_DIST += tests/vm/kernel.sh tests/vm/guest/init tests/vm/guest/serve tests/vm/guest/start tests/vm/guest/vm-rsh
