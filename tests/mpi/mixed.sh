#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Cases 3 and 27: host and device buffers mixed among ranks and among calls.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 2 3 4 8; do
    run $ranks tests/mpi/test_mixed $ranks
done
run 3 +solo tests/mpi/test_mixed 11
run 4 transport=shm algorithm=ring tests/mpi/test_mixed 12
finish
