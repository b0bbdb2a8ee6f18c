# SPDX-License-Identifier: BSD-3-Clause
#
# Random calls with random settings.
check_PROGRAMS += tests/property/allreduce_property
tests_property_allreduce_property_SOURCES = tests/property/allreduce_property.c
tests_property_allreduce_property_CPPFLAGS = $(mpi_test_cppflags)
tests_property_allreduce_property_LDADD = $(mpi_test_libs)

flight_sources = tests/property/flight.c tests/property/flight.h tests/property/drawn_types.c tests/property/drawn_types.h \
    tests/property/drawn_comms.c tests/property/drawn_comms.h tests/mpi/random_types.c tests/mpi/random_types.h \
    $(stage_test_sources)
check_PROGRAMS += tests/property/collectives_property
tests_property_collectives_property_SOURCES = tests/property/collectives_property.c $(flight_sources)
tests_property_collectives_property_CPPFLAGS = $(mpi_test_cppflags)
tests_property_collectives_property_LDADD = $(mpi_test_libs)

property_scripts = tests/property/allreduce.sh tests/property/collectives.sh
TESTS += $(property_scripts)
dist_check_SCRIPTS += $(property_scripts)
EXTRA_DIST += tests/property/settings.sh
