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
run 1 tests/mpi/case_02_reduce_local
run 2 tests/mpi/case_13_before_init
run 2 tests/mpi/case_14_reuse 1000
run 2 transport=shm tests/mpi/case_14_reuse 200 7
# Large: what a process may keep of small ones is 256 MiB.
run 2 +memory=1G tests/mpi/case_15_free 671088640 message
run 3 +memory=1G algorithm=two_shot tests/mpi/case_15_free 671088640 allreduce
run 2 +memory=1G algorithm=two_shot tests/mpi/case_15_free 671088640 message allreduce message
run 2 tests/mpi/case_18_threads
run 2 +solo tests/mpi/case_18_threads
for how in close leak comm; do
    run 2 tests/mpi/case_20_end $how
done
run 2 tests/mpi/case_28_fork
finish
