# SPDX-License-Identifier: BSD-3-Clause
#
# Wires between nodes: cases that every wire has to pass, and scripts that choose a wire and a network for them.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_wire
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c tests/unit/wire_ends.c tests/unit/wire_ends.h \
    tests/unit/wire_cases.h tests/unit/wire_faults.c tests/unit/wire_processes.c
tests_unit_test_wire_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_test_wire_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
if HAVE_UCX
check_PROGRAMS += tests/unit/test_ucx tests/unit/test_ucx_silence tests/unit/test_ucx_ticket tests/unit/test_key_table
tests_unit_test_ucx_SOURCES = tests/unit/test_ucx.c tests/unit/wire_ends.c
tests_unit_test_ucx_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
tests_unit_test_ucx_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_ucx_silence_SOURCES = tests/unit/test_ucx_silence.c
tests_unit_test_ucx_silence_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
tests_unit_test_ucx_silence_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_ucx_ticket_SOURCES = tests/unit/test_ucx_ticket.c tests/unit/wire_ends.c
tests_unit_test_ucx_ticket_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_key_table_SOURCES = tests/unit/test_key_table.c
tests_unit_test_key_table_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS)
TESTS += tests/unit/test_key_table tests/unit/test_ucx_silence tests/unit/wire_ucx.sh
THREAD_TESTS += tests/unit/wire_ucx.sh
THREAD_NEEDS += tests/unit/test_wire
endif
endif
dist_check_SCRIPTS += tests/unit/wire_ucx.sh
