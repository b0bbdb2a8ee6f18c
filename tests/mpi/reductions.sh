#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Reduce, reduce-scatter and scans over the mapped buffers of all ranks (coll_gpufifo_mapped), with 1 to 8 ranks: counts, types,
# operations, roots, places and buffers by random numbers; ranks with host buffers; who cannot map; strictness.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 2 3 5; do
    run $ranks mapped=kernel tests/mpi/test_reductions path=reduce_mapped seed=$ranks random reuse
done
run 3 +weak +team=3 +blocks=16 mapped=kernel tests/mpi/test_reductions path=reduce_mapped seed=7 rounds=60 random
run 8 mapped=kernel tests/mpi/test_reductions path=reduce_mapped most=20000 rounds=60 random
run 1 mapped=kernel tests/mpi/test_reductions path=local rounds=60 random
run 4 mapped=kernel tests/mpi/test_reductions seed=4 rounds=60 communicators mixed

# By auto from buffers that come again, and only where kernels run at once; by a kernel that was asked for everywhere.
run 3 mapped=auto tests/mpi/test_reductions path=reduce_mapped,staged rounds=60 random reuse
run 3 +solo mapped=auto tests/mpi/test_reductions path=staged rounds=30 random
run 3 +solo mapped=kernel tests/mpi/test_reductions path=reduce_mapped rounds=60 random

# Types and operations of the program's own, and all kinds of memory: some calls are staged, on all ranks alike.
for name in Reduce Reduce_scatter Scan; do
    run 3 mapped=kernel tests/mpi/test_stage only=$name rounds=3 seed=11
done

# Who cannot is told, all stage, and the results are right.
run_prints "copies, which a setting asks for, reduce nothing" 3 mapped=copy verbose=2 \
    tests/mpi/test_reductions path=staged rounds=20 random
run_prints "reduction over mapped buffers cannot be used" 3 +noipc mapped=kernel \
    tests/mpi/test_reductions path=staged rounds=20 random
run_prints "cannot fetch from these buffers.*rank 1: the step ipc_export" 3 fault=ipc_export:3@1 mapped=kernel \
    tests/mpi/test_reductions rounds=60 reuse
run_fails "strict: this call would be staged" 2 +noipc strict=1 mapped=kernel tests/mpi/test_reductions rounds=20 random
finish
