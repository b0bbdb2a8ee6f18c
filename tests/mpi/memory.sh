#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory of each allocator that programs use, in messages and in MPI_Allreduce by two_shot: which path it takes by default, and
# with the variable vmm; and where the descriptor that shares it does not come.
. "${srcdir:-.}/tests/mpi/runs.sh"

other=pt2pt_staged
# Now and then a kernel that was cancelled on a busy machine is still to leave, and keeps mapped what is in the way.
mapped=pt2pt_pulled,pt2pt_piped,pt2pt_staged
two_shot="algorithm=two_shot"

run 2 +lingering $two_shot tests/mpi/test_memory plain:$mapped:two_shot managed pinned
# Where memory was that messages have mapped, and that is freed, a connection has its own.
for ranks in 2 4; do
    run_silent $ranks +lingering transport=p2p tests/mpi/test_memory rounds=8 plain:$mapped
done
# By default what others cannot map by a handle alone goes as ever.
run_prints "two-shot cannot be used for these buffers.*cannot be mapped by other processes" 2 $two_shot pipe_bytes=1000000000 \
    tests/mpi/test_memory vmm:$other vmm_private:$other pool:$other
for ranks in 2 4; do
    run $ranks +lingering vmm=1 $two_shot tests/mpi/test_memory rounds=20 vmm:$mapped:two_shot plain:$mapped:two_shot
    run $ranks +lingering vmm=1 $two_shot tests/mpi/test_memory vmm:$mapped:two_shot pool vmm_private plain:$mapped:two_shot
done
run 3 +lingering +weak +seed=5 vmm=1 $two_shot tests/mpi/test_memory vmm:$mapped:two_shot
run 2 +lingering vmm=1 $two_shot pipe_bytes=1000000000 tests/mpi/test_memory vmm_private:$other pool:$other
run_prints "without a file descriptor" 2 vmm=1 $two_shot tests/mpi/test_memory vmm_private
run_prints "of a stream-ordered pool" 2 vmm=1 $two_shot tests/mpi/test_memory pool
run 2 +lingering +noipc vmm=1 tests/mpi/test_memory vmm plain pool
run 3 +lingering vmm=1 fault=ipc_open:5@2 $two_shot tests/mpi/test_memory vmm
# The ring from buffer to buffer: memory that is freed and comes again, and of kinds that it must leave to the slots. Not strict:
# messages of the same memory may be staged, as above.
for way in direct_write direct_read; do
    ring="algorithm=ring simple_buffer=$way"
    run 3 +lingering agent=off $ring tests/mpi/test_memory rounds=8 plain::ring
    run_prints "by slots, not from buffer to buffer: .* cannot be mapped by other processes" 2 $ring tests/mpi/test_memory \
        vmm::ring vmm_private::ring pool::ring plain::ring
    run 2 +lingering vmm=1 $ring tests/mpi/test_memory vmm::ring
done
run_fails "cannot be exported" 2 vmm=1 strict=1 $two_shot tests/mpi/test_memory pool
finish
