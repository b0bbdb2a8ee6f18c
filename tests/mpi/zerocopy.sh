#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce over the mapped buffers of all ranks (algorithm two_shot), with 2 to 8 ranks: every type, size and
# offset; buffers that come and go; ranks that cannot map; stores that arrive late; strictness.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 2 3 4 8; do
    run $ranks algorithm=two_shot tests/mpi/test_allreduce path=two_shot limit=65536 types sizes bits
done
for ranks in 2 4; do
    run $ranks algorithm=two_shot tests/mpi/test_zerocopy path=two_shot reuse offsets
    run $ranks +weak +torn +seed=3 algorithm=two_shot tests/mpi/test_allreduce path=two_shot limit=16384 sizes bits
    run $ranks +weak +team=3 +blocks=16 algorithm=two_shot tests/mpi/test_zerocopy path=two_shot offsets
done
run 9 +blocks=32 algorithm=two_shot tests/mpi/test_allreduce path=two_shot limit=1024 sizes
run 3 algorithm=two_shot tests/mpi/test_allreduce kinds
run 2 algorithm=two_shot tests/mpi/case_14_reuse 1000
run 3 algorithm=two_shot tests/mpi/test_zerocopy communicators

# The same by kernels of which none waits: also where they cannot run at once. In place two_shot or the rest goes on.
for ranks in 2 3 5; do
    run $ranks algorithm=one_shot_mapped tests/mpi/test_allreduce limit=65536 types sizes bits
    run $ranks algorithm=one_shot_mapped tests/mpi/test_zerocopy reuse offsets
done
run 2 +weak +team=3 +blocks=16 algorithm=one_shot_mapped tests/mpi/test_zerocopy offsets
run 3 +solo algorithm=one_shot_mapped tests/mpi/test_zerocopy reuse offsets
run 17 +blocks=64 algorithm=one_shot_mapped tests/mpi/test_allreduce limit=256 path=one_shot sizes

# Without a setting: large calls go that way when their buffers have come in some calls, and nothing is said where they cannot.
for ranks in 2 3 8; do
    run $ranks tests/mpi/test_zerocopy familiar
done
for ranks in 2 3 4 5; do
    run $ranks tests/mpi/test_zerocopy bits
done
run 4 +weak +blocks=32 simple_slot_bytes=1024 tests/mpi/test_zerocopy bits
# Where kernels take turns, from the hosts to those that wait for nobody.
run 2 tests/mpi/test_zerocopy large_bits
run_prints "one-shot over mapped buffers: kernels take turns" 3 +solo verbose=1 tests/mpi/test_zerocopy large_bits
run 2 +solo tests/mpi/test_allreduce limit=2097152 path=host_sequenced,one_shot_mapped sizes
run 2 one_shot_bytes=4096 tests/mpi/test_allreduce limit=1048576 sizes bits
run_prints "two-shot cannot be used, taking the next path: .*cannot be mapped" 3 +noipc verbose=1 transport=auto \
    tests/mpi/test_allreduce path=one_shot,ring limit=200000 sizes
run 3 fault=ipc_export:3+@1 tests/mpi/test_allreduce path=one_shot,ring limit=200000 sizes

# Who cannot is told, all take the same other path, and the results are right.
run_prints "two-shot cannot be used" 3 +noipc algorithm=two_shot tests/mpi/test_allreduce path=one_shot limit=16384 sizes
run_prints "two-shot cannot be used for these buffers.*rank 1: the step ipc_export" 3 fault=ipc_export:3@1 algorithm=two_shot \
    tests/mpi/test_zerocopy reuse
run_prints "two-shot cannot be used for these buffers.*rank 2: the memory of rank 1 could not be mapped" 3 fault=ipc_open:5@2 \
    algorithm=two_shot tests/mpi/test_zerocopy reuse offsets
run 2 transport=shm algorithm=two_shot tests/mpi/test_allreduce path=one_shot limit=16384 sizes
run 2 +solo algorithm=two_shot tests/mpi/test_allreduce path=host_sequenced limit=4096 sizes
run_fails "not all ranks can map" 2 +noipc strict=1 algorithm=two_shot tests/mpi/test_allreduce limit=64 sizes
finish
