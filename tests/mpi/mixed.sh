#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Cases 3 and 27: host and device buffers mixed among ranks and among calls.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 2 3 4 8; do
    run $ranks tests/mpi/test_mixed $ranks
done
run 3 +solo tests/mpi/test_mixed 11
run 2 tests/mpi/test_absent 0
run 2 tests/mpi/test_absent 1
run_prints "a rank of it runs without gpufifo" 4 verbose=1 tests/mpi/test_absent 2
# It reduces as it does, and so must they, also where they would go by the order of the ranks.
run_prints "MPI_COMM_WORLD: rank 1 runs without gpufifo, or in another job: reductions do not keep the order" 4 deterministic=1 \
    tests/mpi/test_absent 1
run 3 deterministic=1 tests/mpi/test_absent 0
run 4 transport=shm algorithm=ring tests/mpi/test_mixed 12
# Without the components that would make Open MPI look up all processes beforehand: we must find those of our node ourselves.
MPIRUN_OPTIONS="${MPIRUN_OPTIONS:-} --mca coll gpufifo,tuned,libnbc,basic,inter,self"
run 3 tests/mpi/test_mixed 13
finish
