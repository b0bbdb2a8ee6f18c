#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives that go through host memory and the saved component.
. "${srcdir:-.}/tests/mpi/runs.sh"
OMPI_MCA_coll_gpufifo_mapped=off         # else some go another way
export OMPI_MCA_coll_gpufifo_mapped

for ranks in 1 2 3 5; do
    run $ranks tests/mpi/test_stage seed=$ranks
    run $ranks tests/mpi/test_stage_flight seed=$ranks
done
# With reductions of our own in place of the saved component's.
run 3 deterministic=1 tests/mpi/test_stage seed=4
run 1 +memory=16M tests/mpi/test_full
run 3 +memory=16M tests/mpi/test_full
run_prints "200 bytes from rank 0: fetched from the sender's buffer: by the CPU: it had waited" 2 +memory=16M verbose=2 \
    tests/mpi/test_full early
finish
