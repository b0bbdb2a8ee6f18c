# SPDX-License-Identifier: BSD-3-Clause
#
# What needs verbs, in a virtual machine that has them. The programs run there without the scripts that libtool would wrap them
# in.
if HAVE_VERBS
if HAVE_CMOCKA
check_PROGRAMS += tests/vm/test_verbs tests/vm/test_verbs_adapters tests/vm/test_verbs_pairs tests/vm/test_verbs_settings \
    tests/vm/test_verbs_net
tests_vm_test_verbs_SOURCES = tests/vm/test_verbs.c tests/unit/wire_ends.c tests/unit/wire_ends.h
tests_vm_test_verbs_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
tests_vm_test_verbs_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_vm_test_verbs_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_vm_test_verbs_settings_SOURCES = tests/vm/test_verbs_settings.c tests/unit/wire_ends.c tests/unit/wire_ends.h
tests_vm_test_verbs_settings_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
tests_vm_test_verbs_settings_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_vm_test_verbs_settings_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_vm_test_verbs_pairs_SOURCES = tests/vm/test_verbs_pairs.c tests/unit/wire_ends.c tests/unit/wire_ends.h
tests_vm_test_verbs_pairs_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
tests_vm_test_verbs_pairs_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_vm_test_verbs_pairs_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_vm_test_verbs_adapters_SOURCES = tests/vm/test_verbs_adapters.c tests/unit/wire_ends.c tests/unit/wire_ends.h
tests_vm_test_verbs_adapters_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
tests_vm_test_verbs_adapters_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_vm_test_verbs_adapters_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_vm_test_verbs_net_SOURCES = tests/vm/test_verbs_net.c tests/unit/net_counts.c tests/unit/net_counts.h $(tests_net_sources)
tests_vm_test_verbs_net_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CPPFLAGS)
tests_vm_test_verbs_net_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_vm_test_verbs_net_LDADD = $(tests_core_libs) -ldl
# A sanitizer under the machine's emulation takes more than a minute.
if !GF_SANITIZE
TESTS += tests/vm/verbs.sh tests/vm/adapters.sh tests/vm/nodes.sh tests/vm/ends.sh tests/vm/netem.sh
endif
endif
endif
dist_check_SCRIPTS += tests/vm/verbs.sh tests/vm/adapters.sh tests/vm/nodes.sh tests/vm/ends.sh \
    tests/vm/netem.sh tests/vm/verbs_vm.sh
EXTRA_DIST += tests/vm/kernel.sh tests/vm/guest/init tests/vm/guest/serve tests/vm/guest/start tests/vm/guest/vm-rsh
