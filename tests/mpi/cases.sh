#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Cases that users reported about MPI and device buffers, one program each; the numbers are those of docs/testing.md.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 3; do
    run $ranks tests/mpi/case_01_30_nonblocking
    run $ranks tests/mpi/case_04_self_copy
    run $ranks tests/mpi/case_29_zero
done
if [ "${GF_SANITIZER:-no}" = no ]; then
    GF_TIMEOUT=300 && export GF_TIMEOUT
    run 2 tests/mpi/case_01_30_nonblocking limit=67108864
    unset GF_TIMEOUT
fi
run 1 tests/mpi/case_02_reduce_local
run 2 tests/mpi/case_13_before_init
run 2 tests/mpi/case_14_reuse 1000
run 2 transport=shm tests/mpi/case_14_reuse 200 7
run 2 +memory=67108864 tests/mpi/case_15_free 41943040 message
run 3 +memory=67108864 algorithm=two_shot tests/mpi/case_15_free 41943040 allreduce
run 2 +memory=67108864 algorithm=two_shot tests/mpi/case_15_free 41943040 message allreduce message
run 2 tests/mpi/case_18_threads
run 2 +solo tests/mpi/case_18_threads
for how in close leak comm; do
    run 2 tests/mpi/case_20_end $how
done
run 2 tests/mpi/case_28_fork
finish
