# SPDX-License-Identifier: BSD-3-Clause
#
# Steps that fail and ranks that die.
check_PROGRAMS += tests/fault/killed_rank tests/fault/others_go_on
tests_fault_killed_rank_SOURCES = tests/fault/killed_rank.c
tests_fault_killed_rank_CPPFLAGS = $(mpi_test_cppflags)
tests_fault_killed_rank_LDADD = $(mpi_test_libs)
tests_fault_others_go_on_SOURCES = tests/fault/others_go_on.c
tests_fault_others_go_on_CPPFLAGS = $(mpi_test_cppflags)
tests_fault_others_go_on_LDADD = $(mpi_test_libs)

fault_test_scripts = tests/fault/paths.sh tests/fault/killed.sh tests/fault/killed_stages.sh tests/fault/containers.sh
EXTRA_DIST += tests/fault/killed_rank.sh
TESTS += $(fault_test_scripts)
dist_check_SCRIPTS += $(fault_test_scripts)
