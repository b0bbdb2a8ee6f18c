#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Nothing grows: with 10 000 calls, with a thousand communicators, and with a thousand messages of each kind that end with an
# error. The device is small, so that a leak shows.
. "${srcdir:-.}/tests/mpi/runs.sh"

run 2 +memory=64M mapped=kernel tests/mpi/test_leaks calls=10000
run 2 +memory=64M mapped=off tests/mpi/test_leaks calls=2000
run 3 +memory=96M mapped=kernel tests/mpi/test_leaks communicators=500
run 2 +memory=64M tests/mpi/test_pt2pt_failed
run 2 +memory=64M tests/mpi/test_pt2pt_failed threads
if over_ucx; then
    run 2 +memory=64M tests/mpi/test_pt2pt_failed
fi
finish
