#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The examples: the heat equation on several partitions, the mpi4py client, and what they say about wrong options.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 2 4 6; do
    run_prints "0 of 2209 points differ.*: right" $ranks examples/jacobi --size 47 --steps 20
done
run_prints "MPI_Sendrecv  *path at rank 0: pt2pt_.* (2 calls, 128 bytes)" 4 examples/jacobi --size 16 --steps 2
run_prints "MPI_Isend, MPI_Irecv  *path at rank 0: pt2pt_.* (2 calls, 128 bytes)" 4 examples/jacobi --size 16 --steps 2
run_prints "MPI_Allreduce  *path at rank 0: one_shot (1 call, 8 bytes)" 4 examples/jacobi --size 16 --steps 2
run_prints "MPI_Allreduce  *path at rank 0: host_sequenced" 4 +solo examples/jacobi --size 16 --steps 2
run_fails "must be at least the number of ranks" 4 examples/jacobi --size 1
run_fails "takes a number" 1 examples/jacobi --steps many
run_fails "Usage" 1 examples/jacobi --nonsense
run_fails "no device: " 1 examples/jacobi --device nonsense
run_fails "the component coll/gpufifo is not in use" 2 device=none examples/jacobi --device emulated
if [ "$GF_MPI4PY" = yes ]; then
    for ranks in 1 3; do
        run "$ranks" "$PYTHON" "${srcdir:-.}/examples/mpi4py_allreduce.py"
    done
else
    skip 2 "no Python with mpi4py for this Open MPI (Debian and Ubuntu: python3-mpi4py)"
fi
finish
