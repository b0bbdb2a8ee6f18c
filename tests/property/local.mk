# SPDX-License-Identifier: BSD-3-Clause
#
# Random calls with random settings.
check_PROGRAMS += tests/property/allreduce_property
tests_property_allreduce_property_SOURCES = tests/property/allreduce_property.c
tests_property_allreduce_property_CPPFLAGS = $(mpi_test_cppflags)
tests_property_allreduce_property_LDADD = $(mpi_test_libs)

TESTS += tests/property/allreduce.sh
dist_check_SCRIPTS += tests/property/allreduce.sh
