# SPDX-License-Identifier: BSD-3-Clause
#
# `make check`. Each kind of test has its fragment. A script among TESTS exits 77 to be counted as skipped, its last line says
# why.

include tests/unit/local.mk
include tests/property/local.mk
include tests/mpi/local.mk
include tests/model/local.mk
include tests/fault/local.mk
include tests/slurm/local.mk
include tests/netns/local.mk
include tests/gpu/local.mk
include tests/vm/local.mk

# What looks at the source and not at the build needs to run once only, not again under each sanitizer.
if !GF_SANITIZE
TESTS += tests/check_includes.sh tests/check_static.sh tests/check_spills.sh
endif
dist_check_SCRIPTS += tests/check_includes.sh tests/check_static.sh tests/check_spills.sh tests/check_install.sh \
    tests/check_configure.sh \
    tests/check_warnings.sh tests/count_results.sh
EXTRA_DIST += tests/setup.sh

# When check.sh tries a release it has run all tests before. All programs are built from it again; these show that what runs finds
# its files.
RELEASE_TESTS = $(tests_unit_programs) tests/mpi/examples.sh tests/check_includes.sh
