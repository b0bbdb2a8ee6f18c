# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of the emulated device and of the public header.
TESTS += tests/unit/test_device_header.sh
dist_check_SCRIPTS += tests/unit/test_device_header.sh

if HAVE_CMOCKA
tests_emulated_programs = \
    tests/unit/test_device \
    tests/unit/test_device_public \
    tests/unit/test_emulated_arena \
    tests/unit/test_emulated_ipc \
    tests/unit/test_emulated_launch \
    tests/unit/test_emulated_memory \
    tests/unit/test_emulated_registered \
    tests/unit/test_emulated_options \
    tests/unit/test_emulated_process \
    tests/unit/test_emulated_stream \
    tests/unit/test_fd_server
check_PROGRAMS += $(tests_emulated_programs)
TESTS += $(tests_emulated_programs)

tests_unit_test_device_SOURCES = tests/unit/test_device.c
tests_unit_test_device_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_device_public_SOURCES = tests/unit/test_device_public.c
tests_unit_test_device_public_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_arena_SOURCES = tests/unit/test_emulated_arena.c
tests_unit_test_emulated_arena_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_ipc_SOURCES = tests/unit/test_emulated_ipc.c tests/unit/ipc_peer.c tests/unit/ipc_peer.h \
    tests/unit/child.h
tests_unit_test_emulated_ipc_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_launch_SOURCES = tests/unit/test_emulated_launch.c tests/unit/child.h
tests_unit_test_emulated_launch_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_memory_SOURCES = tests/unit/test_emulated_memory.c tests/unit/emulated_memory.h tests/unit/child.h
tests_unit_test_emulated_memory_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_registered_SOURCES = tests/unit/test_emulated_registered.c tests/unit/emulated_memory.h
tests_unit_test_emulated_registered_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_options_SOURCES = tests/unit/test_emulated_options.c
tests_unit_test_emulated_options_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_process_SOURCES = tests/unit/test_emulated_process.c tests/unit/child.h
tests_unit_test_emulated_process_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_emulated_stream_SOURCES = tests/unit/test_emulated_stream.c
tests_unit_test_emulated_stream_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_fd_server_SOURCES = tests/unit/test_fd_server.c tests/support/descriptors.h
tests_unit_test_fd_server_LDADD = libgpufifo.la $(CMOCKA_LIBS)
endif
