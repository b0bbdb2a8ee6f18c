#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce by the agent: one that stays, one that leaves all the time, one that decides for itself; with stores that
# arrive late, several host threads a block, on every transport; beside larger calls that are launched, host buffers, other
# communicators and threads.
. "${srcdir:-.}/tests/mpi/runs.sh"

# A machine that is busy is no reason to go another way: the agent is waited for; and it stays for long, since a rank that does
# not run for that time finds it gone, and gives it up when that has come four times.
OMPI_MCA_coll_gpufifo_agent_start_us=60000000
export OMPI_MCA_coll_gpufifo_agent_start_us

for transport in p2p shm; do
    run 2 agent=60000 transport=$transport algorithm=one_shot tests/mpi/test_allreduce path=agent limit=8192 types sizes
    run 3 +weak +seed=4 agent=60000 transport=$transport algorithm=one_shot tests/mpi/test_allreduce path=agent limit=8192 sizes
    run 4 +weak +seed=5 agent=1 transport=$transport algorithm=one_shot tests/mpi/test_allreduce limit=1024 sizes
done
run 2 +weak +team=3 agent=60000 algorithm=one_shot tests/mpi/test_allreduce path=agent limit=4096 sizes
run 3 +weak agent=auto tests/mpi/test_allreduce limit=262144 types sizes bits
run 3 agent=500 ll_slot_bytes=1024 tests/mpi/test_allreduce limit=65536 sizes
run_prints "by the agent, where it is there" 2 agent=500 verbose=1 tests/mpi/test_allreduce limit=16 sizes
# No room for it beside other kernels, or none of the kernels may wait.
run 2 +blocks=2 agent=500 algorithm=one_shot tests/mpi/test_allreduce path=one_shot limit=1024 sizes
run 2 +solo agent=500 tests/mpi/test_allreduce path=host_sequenced limit=1024 sizes
run 3 +weak agent=2000 tests/mpi/test_mixed 3
run 2 agent=2000 tests/mpi/case_18_threads
for how in close leak comm; do
    run 2 agent=60000 tests/mpi/case_20_end $how
done
run 2 agent=2000 tests/mpi/case_14_reuse 100
for agent in off auto 2000; do
    run 2 agent=$agent tests/gpu/agent_habits iterations=10 row sync memory work pause bytes=4096 row
done
finish
