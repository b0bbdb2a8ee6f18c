#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce on every transport by every algorithm, with 1 to 8 ranks; each run also checks that this path and transport were
# taken.
. "${srcdir:-.}/tests/mpi/runs.sh"

for transport in p2p shm; do
    for algorithm in one_shot ring; do
        run_prints "data goes by $transport" 2 verbose=1 transport=$transport algorithm=$algorithm \
            tests/mpi/test_allreduce path=$algorithm types sizes bits
        run 3 transport=$transport algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=65536 types sizes bits
        run 8 transport=$transport algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=4096 sizes bits
    done
done
# Those that the host copies move the ring's slots only.
for transport in p2p_copy shm_copy; do
    run_prints "data goes by $transport" 2 verbose=1 transport=$transport tests/mpi/test_allreduce path=ring types sizes bits
    run 3 transport=$transport algorithm=ring tests/mpi/test_allreduce path=ring limit=65536 types sizes bits
    run 8 transport=$transport tests/mpi/test_allreduce path=ring limit=4096 sizes bits
done
run 2 algorithm=host tests/mpi/test_allreduce path=host_sequenced types sizes bits
run 5 algorithm=host tests/mpi/test_allreduce path=host_sequenced limit=65536 sizes bits
run 1 tests/mpi/test_allreduce path=local types sizes bits
run 4 tests/mpi/test_allreduce types sizes bits
for ranks in 1 2 3; do
    run $ranks tests/mpi/test_allreduce kinds
done
finish
