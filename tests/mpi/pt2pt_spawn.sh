#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Messages between a job and the one it spawned. In Open MPI 4.1 only TCP connects the two with pml ob1.
. "${srcdir:-.}/tests/mpi/runs.sh"

case $GF_OPENMPI in
4.1) MPIRUN_OPTIONS="--mca btl self,vader,tcp" ;;
*) MPIRUN_OPTIONS="--mca btl self,sm,tcp" ;;
esac
for ranks in 1 2; do
    run $ranks tests/mpi/test_pt2pt_spawn 1
    run $ranks tests/mpi/test_pt2pt_spawn 2
done
run 1 +noipc tests/mpi/test_pt2pt_spawn 1
finish
