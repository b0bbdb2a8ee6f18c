#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce on emulated devices of other kinds: stores that arrive late and out of order, torn lines, no IPC, kernels that
# cannot run beside those of other ranks, more host threads a block; and with slots so small that every message goes in many
# pieces.
. "${srcdir:-.}/tests/mpi/runs.sh"

for algorithm in one_shot ring; do
    for transport in p2p shm; do
        run 3 +weak +seed=1 transport=$transport algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=16384 sizes \
            bits
    done
    run 2 +weak +torn +seed=2 algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=16384 sizes
    run 2 +team=4 algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=65536 sizes
    run 2 +blocks=2 algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=65536 sizes
    run 2 +blocks=1 algorithm=$algorithm tests/mpi/test_allreduce path=host_sequenced limit=4096 sizes
    run 3 +noipc algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm limit=65536 sizes
    run 3 ll_slot_bytes=128 simple_slot_bytes=128 channels=2 algorithm=$algorithm tests/mpi/test_allreduce path=$algorithm \
        limit=16384 sizes
done
# LL128 lines, and what happens where they would be torn.
run_prints "one-shot over LL128" 2 verbose=1 protocol=ll128 tests/mpi/test_allreduce path=one_shot types sizes bits
run 3 +weak +seed=4 protocol=ll128 tests/mpi/test_allreduce path=one_shot limit=65536 sizes bits
run 4 +team=4 ll_slot_bytes=128 channels=2 protocol=ll128 tests/mpi/test_allreduce path=one_shot limit=16384 sizes
run_prints "from rank 0 to rank 1: the emulated device tears lines" 2 +torn protocol=ll128 tests/mpi/test_allreduce \
    path=one_shot limit=64 sizes
run_fails "strict: LL128 was asked for" 2 +torn strict=1 protocol=ll128 tests/mpi/test_allreduce limit=64 sizes
run_prints "may arrive in parts" 2 verbose=1 transport=shm protocol=ll128 tests/mpi/test_allreduce path=one_shot limit=64 sizes
# The slots of the ring at the sender.
for transport in p2p shm; do
    run 3 transport=$transport algorithm=ring simple_buffer=sender tests/mpi/test_allreduce path=ring limit=65536 sizes bits
    run 3 +weak +seed=3 transport=$transport algorithm=ring simple_buffer=sender tests/mpi/test_allreduce path=ring limit=16384 \
        sizes
done
run 3 +team=4 simple_slot_bytes=128 channels=2 algorithm=ring simple_buffer=sender tests/mpi/test_allreduce path=ring \
    limit=16384 sizes
run_prints "fetched from the sender's slots" 2 verbose=1 algorithm=ring simple_buffer=sender \
    tests/mpi/test_allreduce path=ring limit=16 sizes
# Straight from buffer to buffer; strict, so that no other way is taken. Offsets that agree on no alignment, buffers in place on
# some ranks and not on others, places that change.
for way in direct_write direct_read; do
    direct="algorithm=ring simple_buffer=$way"
    for ranks in 2 3 5; do
        run $ranks strict=1 $direct tests/mpi/test_allreduce path=ring limit=65536 sizes bits
    done
    run 3 +weak +torn +seed=5 strict=1 $direct tests/mpi/test_allreduce path=ring limit=16384 types sizes
    run 3 +team=4 strict=1 simple_slot_bytes=128 channels=2 $direct tests/mpi/test_allreduce path=ring limit=16384 sizes
    run 3 +weak +team=3 +blocks=16 strict=1 $direct tests/mpi/test_zerocopy path=ring offsets reuse
    # Otherwise by slots, for all ranks alike, and said.
    run 3 $direct tests/mpi/test_allreduce kinds
    run_prints "by slots, not from buffer to buffer: .* another transport" 2 transport=shm $direct tests/mpi/test_allreduce \
        path=ring limit=65536 sizes
    run_prints "by slots, not from buffer to buffer: .* cannot be mapped" 2 +noipc $direct tests/mpi/test_allreduce path=ring \
        limit=65536 sizes
    run_prints "by slots, not from buffer to buffer: rank 1: the memory of rank 0" 2 fault=ipc_open:3@1 $direct \
        tests/mpi/test_allreduce path=ring limit=65536 sizes
    run_fails "strict: the ring cannot go from buffer to buffer" 2 strict=1 transport=shm $direct tests/mpi/test_allreduce \
        limit=64 sizes
done
run_prints "results straight into the receiver's buffer" 2 verbose=1 algorithm=ring simple_buffer=direct_write \
    tests/mpi/test_allreduce path=ring limit=16 sizes
run_prints "slots, and straight from its buffers" 2 verbose=1 algorithm=ring simple_buffer=direct_read tests/mpi/test_allreduce \
    path=ring limit=16 sizes
own_gpu=$(cd "$runs_folder" && pwd)/own_gpu.sh
for transport in p2p_copy shm_copy; do
    run 3 +weak +torn +seed=1 transport=$transport tests/mpi/test_allreduce path=ring limit=16384 sizes bits
    run 2 +team=4 transport=$transport simple_slot_bytes=128 channels=2 tests/mpi/test_allreduce path=ring limit=16384 sizes
    # With threads of the program's own, and while it does other things.
    run 2 transport=$transport tests/mpi/case_18_threads
done
# Devices that do not see each other's memory.
run_prints "data goes by shm_copy" 3 +noipc verbose=1 transport=shm_copy tests/mpi/test_allreduce path=ring limit=65536 sizes
run_prints "memory cannot be mapped by other processes" 2 +noipc verbose=1 transport=p2p_copy tests/mpi/test_allreduce \
    path=host_sequenced limit=4096 sizes
# As on a GPU: a copy within the device would wait for the kernel that waits for it.
run_prints "both share one device" 2 +queued verbose=1 transport=p2p_copy tests/mpi/test_allreduce path=host_sequenced \
    limit=4096 sizes
run_prints "data goes by p2p_copy" 2 +queued verbose=1 transport=p2p_copy "$own_gpu" "$GF_BUILDDIR/tests/mpi/test_allreduce" \
    path=ring limit=65536 sizes
run_prints "data goes by shm_copy" 2 +queued verbose=1 transport=shm_copy tests/mpi/test_allreduce path=ring limit=65536 sizes
# In the order of the ranks, whatever the path: a setting forbids the ring.
run 3 deterministic=1 tests/mpi/test_order path=one_shot,two_shot allreduce
run 3 deterministic=1 algorithm=two_shot tests/mpi/test_order path=two_shot,one_shot allreduce
run 3 +weak +seed=6 deterministic=1 algorithm=ring transport=shm tests/mpi/test_order path=one_shot allreduce
run 3 deterministic=1 transport=shm_copy tests/mpi/test_order path=host_sequenced allreduce
run 3 +solo deterministic=1 tests/mpi/test_order path=host_sequenced,one_shot_mapped allreduce
run 3 deterministic=1 mapped=off tests/mpi/test_order path=staged others own
run 3 deterministic=1 mapped=kernel tests/mpi/test_order path=reduce_mapped,staged others own
run 3 deterministic=1 tests/mpi/test_order host=1 allreduce others own
run_prints "The order counts" 2 deterministic=1 algorithm=ring tests/mpi/test_allreduce path=one_shot limit=64 sizes
for ranks in 2 4; do
    run $ranks +solo tests/mpi/test_allreduce path=host_sequenced types limit=65536 sizes bits
done
finish
