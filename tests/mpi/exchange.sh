#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives that move blocks, and fetch them from the mapped buffers of all ranks (coll_gpufifo_mapped), by kernels and by
# copies, with 1 to 8 ranks: counts, types, places and buffers by random numbers; ranks that cannot map; strictness.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 2 3 5; do
    run $ranks mapped=kernel tests/mpi/test_exchange path=exchange seed=$ranks random reuse form=1 random form=2 random
    run $ranks +weak +team=3 +blocks=16 mapped=kernel tests/mpi/test_exchange path=exchange seed=7 rounds=60 random
    run $ranks mapped=copy tests/mpi/test_exchange seed=$ranks random reuse
done
run 8 mapped=kernel tests/mpi/test_exchange path=exchange most=20000 random
run 2 mapped=kernel tests/mpi/test_exchange path=exchange rounds=10000 most=40 reuse
run 3 mapped=kernel tests/mpi/test_exchange communicators
run 1 mapped=kernel tests/mpi/test_exchange random

# Neighbours; and those of topologies that have a rank twice, which are staged.
for ranks in 3 6; do
    run $ranks mapped=kernel tests/mpi/test_exchange path=exchange seed=$ranks neighbours form=1 neighbours form=2 neighbours
done
run_prints "staged.*one rank is several neighbours" 2 verbose=3 mapped=kernel tests/mpi/test_exchange neighbours

# Calls that go on while the program is elsewhere.
for ranks in 2 4; do
    run $ranks strict=1 mapped=kernel tests/mpi/test_flight path=exchange,reduce_mapped away receive crossed away \
        persistent away receive crossed again
    run $ranks mapped=kernel tests/mpi/test_flight freed persistent freed
    run $ranks strict=1 mapped=kernel tests/mpi/test_flight_first path=exchange,reduce_mapped first burst freed
done
# The first calls of their communicators; by several threads.
run 3 mapped=kernel tests/mpi/test_flight_first reduced late reduced
run 3 strict=1 mapped=kernel tests/mpi/test_flight_first threads path=exchange,reduce_mapped first each
run 2 mapped=kernel tests/mpi/test_flight_first threads seed=5 each late
run_prints "staged through host memory, because .*segment" 3 fault=segment:1@1 mapped=kernel \
    tests/mpi/test_flight_first path=staged first burst
run_prints "MPI_I.*staged through host memory: .*the step ipc_export" 3 verbose=3 fault=ipc_export:1+@1 mapped=kernel \
    tests/mpi/test_flight_first path=staged first burst
run 3 +solo strict=1 mapped=copy tests/mpi/test_exchange path=exchange_copy rounds=40 form=1 neighbours
run 3 +solo mapped=copy tests/mpi/test_flight path=exchange_copy moves away receive crossed away
run 3 mapped=kernel tests/mpi/test_flight path=exchange,reduce_mapped,staged seed=3 mixed rounds=5 turns turns persistent mixed
run 2 mapped=auto tests/mpi/test_flight rounds=10 mixed turns
run_prints "MPI_I.* cannot fetch from these buffers.*rank 1: the step ipc_export" 3 fault=ipc_export:3+@1 \
    mapped=kernel tests/mpi/test_flight path=staged,exchange,reduce_mapped rounds=5 crossed mixed turns
run_fails "the step launch" 3 fault=launch:3@1 mapped=kernel tests/mpi/test_flight receive
run_fails "a buffer of a persistent operation is no device memory any more" 2 mapped=kernel tests/mpi/test_flight gone

# By auto from buffers that come again, and only where kernels run at once.
for ranks in 2 4; do
    run $ranks mapped=auto tests/mpi/test_exchange path=exchange,staged random reuse
done
run 3 +solo mapped=auto tests/mpi/test_exchange path=staged random
run 3 strict=1 mapped=auto tests/mpi/test_exchange path=exchange rounds=40 random
run 3 mapped=auto tests/mpi/test_mixed 4

# Nothing waits on the device: kernels that cannot run at once are no hindrance.
run 3 +solo mapped=kernel tests/mpi/test_exchange path=exchange random

# With all mixtures of memory: some calls are staged, on all ranks alike.
for mapped in kernel copy; do
    run 3 mapped=$mapped tests/mpi/test_mixed 4
done
for name in Alltoall Alltoallv Alltoallw Allgather Allgatherv Bcast Gather Gatherv Scatter Scatterv Neighbor_allgatherv \
    Neighbor_alltoallw; do
    run 3 mapped=kernel tests/mpi/test_stage only=$name rounds=3 seed=11
done

# A rank without data is a host rank among host ranks.
run 3 strict=1 mapped=kernel tests/mpi/test_exchange path=exchange empty

# Counts that disagree.
run_fails "rank 1 sends 40 bytes to rank 0, which expects 44: pass counts and datatypes that agree" 3 mapped=kernel \
    tests/mpi/test_exchange disagree

# Who cannot is told, all stage, and the results are right.
run_prints "exchange by kernel cannot be used" 3 +noipc mapped=kernel tests/mpi/test_exchange path=staged random
run_prints "cannot fetch from these buffers.*rank 1: the step ipc_export" 3 fault=ipc_export:3@1 mapped=kernel \
    tests/mpi/test_exchange reuse
run_prints "cannot fetch from these buffers.*rank 2: the memory of rank 1 could not be mapped" 3 fault=ipc_open:5@2 \
    mapped=kernel tests/mpi/test_exchange reuse
run 3 transport=shm mapped=kernel tests/mpi/test_exchange path=staged random
run_fails "strict: this call would be staged" 2 +noipc strict=1 mapped=kernel tests/mpi/test_exchange random
finish
