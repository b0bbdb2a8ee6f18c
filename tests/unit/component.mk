# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of parts of the component, and of the benchmark, without a job: of those that need no Open MPI, and, against its headers,
# of those for which the test plays it.
if HAVE_CMOCKA
tests_component_programs = tests/unit/test_agree_board tests/unit/test_agree_later tests/unit/test_arming tests/unit/test_ballot \
    tests/unit/test_cliffs tests/unit/test_host_memory tests/unit/test_links
check_PROGRAMS += $(tests_component_programs)
TESTS += $(tests_component_programs)

tests_unit_test_agree_board_SOURCES = tests/unit/test_agree_board.c tests/unit/agree_calls.h mca_coll_gpufifo/agree_board.c
tests_unit_test_agree_board_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_agree_board_LDADD = $(CMOCKA_LIBS)
tests_unit_test_agree_later_SOURCES = tests/unit/test_agree_later.c tests/unit/agree_calls.h mca_coll_gpufifo/agree_board.c \
    mca_coll_gpufifo/agree_later.c
tests_unit_test_agree_later_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_agree_later_LDADD = $(CMOCKA_LIBS)
tests_unit_test_arming_SOURCES = tests/unit/test_arming.c mca_coll_gpufifo/arming.c mca_coll_gpufifo/gone.c
tests_unit_test_arming_CPPFLAGS = $(mca_coll_gpufifo_la_CPPFLAGS)
tests_unit_test_arming_CFLAGS = $(mca_coll_gpufifo_la_CFLAGS)
# Open MPI 4.1 has what the component names in a library that its own libraries bring along.
tests_unit_test_arming_LDFLAGS = $(AM_LDFLAGS) -Wl,--copy-dt-needed-entries
tests_unit_test_arming_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS) $(MPI_LIBS) -lopen-pal
tests_unit_test_ballot_SOURCES = tests/unit/test_ballot.c mca_coll_gpufifo/ballot.c
tests_unit_test_ballot_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_ballot_LDADD = $(CMOCKA_LIBS)
tests_unit_test_cliffs_SOURCES = tests/unit/test_cliffs.c bench/cliffs.c bench/cliffs.h
tests_unit_test_cliffs_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_cliffs_LDADD = $(CMOCKA_LIBS)
tests_unit_test_host_memory_SOURCES = tests/unit/test_host_memory.c mca_coll_gpufifo/host_memory.c
tests_unit_test_host_memory_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_host_memory_LDADD = libgpufifo.la $(CMOCKA_LIBS)
tests_unit_test_links_SOURCES = tests/unit/test_links.c mca_coll_gpufifo/pt2pt/links.c mca_coll_gpufifo/pt2pt/links_greet.c
tests_unit_test_links_CPPFLAGS = $(mca_coll_gpufifo_la_CPPFLAGS)
tests_unit_test_links_CFLAGS = $(mca_coll_gpufifo_la_CFLAGS)
tests_unit_test_links_LDFLAGS = $(AM_LDFLAGS) -Wl,--copy-dt-needed-entries
tests_unit_test_links_LDADD = libgfcore.la libgpufifo.la $(CMOCKA_LIBS) $(MPI_LIBS) -lopen-pal
THREAD_TESTS += tests/unit/test_agree_later
endif
