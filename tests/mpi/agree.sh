#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The agreement between ranks with host and with device buffers.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 2 3 6; do
    run $ranks tests/mpi/test_agree calls $ranks
done
run 2 tests/mpi/test_agree races 1
run 4 tests/mpi/test_agree races 2
run 2 tests/mpi/test_agree communicators 1
run 3 tests/mpi/test_agree communicators 2
run 2 tests/mpi/test_agree threads 1
run 3 tests/mpi/test_agree threads 2
for devices in 0 1 2 3; do
    run 2 tests/mpi/test_agree pending $devices
done
finish
