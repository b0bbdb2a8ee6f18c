#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Messages between a job and the one it spawned, and between two of which one has connected to the other. With pml ob1 only TCP
# connects them. Over the loopback, which every machine has: Open MPI 5.0 finds no pair among some machines' other interfaces.
. "${srcdir:-.}/tests/mpi/runs.sh"

case $GF_OPENMPI in
4.1) MPIRUN_OPTIONS="--mca btl self,vader,tcp --mca btl_tcp_if_include lo" ;;
*) MPIRUN_OPTIONS="--mca btl self,sm,tcp --mca btl_tcp_if_include lo" ;;
esac
for ranks in 1 2; do
    run $ranks tests/mpi/test_pt2pt_spawn 1
    run $ranks tests/mpi/test_pt2pt_spawn 2
done
run 1 tests/mpi/test_pt2pt_spawn 2 connected
run 1 +noipc tests/mpi/test_pt2pt_spawn 1
run_prints "a communicator without a name: staged .* not in MPI_COMM_WORLD" 2 verbose=1 tests/mpi/test_pt2pt_spawn 1
if over_ucx; then
    run 1 tests/mpi/test_pt2pt_spawn 2 connected
    run 2 tests/mpi/test_pt2pt_spawn 2
fi
finish
