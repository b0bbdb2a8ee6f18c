#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce over several nodes by coll_gpufifo_net, which here are names on one machine: the ring, whose links between them
# go by UCX over TCP; and what becomes of messages when a rank is killed. The wires alone, and what can go wrong on them, have
# unit tests, and other messages have pt2pt_pipe.sh.
. "${srcdir:-.}/tests/mpi/runs.sh"

if ! has_ucx 13; then
    echo "0 passed, 0 failed, $skipped skipped"
    exit 77
fi
export UCX_TLS=tcp

nodes=$(cd "$runs_folder" && pwd)/own_node.sh
allreduce=$GF_BUILDDIR/tests/mpi/test_allreduce
killed=$GF_BUILDDIR/tests/fault/killed_rank
others=$GF_BUILDDIR/tests/fault/others_go_on

run_prints "between nodes by coll_gpufifo_net, from rank 1 to 2, 2 to 0" 3 verbose=1 net=ucx net_bytes=1 "$nodes" "a a b" \
    "$allreduce" path=ring types limit=16384 sizes bits
run 2 net=auto net_bytes=1 net_device_memory=no simple_slot_bytes=128 channels=2 "$nodes" "a b" "$allreduce" path=ring \
    limit=16384 sizes
# Ranks that alternate between nodes: the ring crosses once from each all the same.
run_prints "by p2p; between nodes by coll_gpufifo_net, from rank 2 to 1, 3 to 0" 4 verbose=1 net=ucx net_bytes=1 \
    "$nodes" "a b a b" "$allreduce" path=ring types limit=4096 sizes bits
run 4 +weak net=ucx net_bytes=1 transport=shm net_group=2 "$nodes" "a a b b" "$allreduce" path=ring limit=16384 sizes bits
run 2 net=ucx net_bytes=1 transport=net tests/mpi/test_allreduce path=ring limit=16384 sizes

# Short ones, and all where a rank has no net, or the network does not open.
run 2 net=ucx "$nodes" "a b" "$allreduce" path=staged limit=65536 sizes
run 2 net=ucx net_bytes=65536 "$nodes" "a b" "$allreduce" path=staged,ring limit=300000 sizes
run_prints "no network can be used here" 2 net=verbs net_bytes=1 net_adapter=nonsense "$nodes" "a b" "$allreduce" path=staged \
    limit=16384 sizes

# A rank is killed, with another on its node and alone there: mpirun says it, or a rank that has noticed before.
GF_TIMEOUT=60
export GF_TIMEOUT
ended="signal 9\|MPI_Allreduce on communicator MPI_COMM_WORLD failed on rank"
run_fails "$ended" 3 net=ucx net_bytes=1 "$nodes" "a b b" "$killed" 1 20 100000
run_fails "$ended" 3 net=ucx net_bytes=1 "$nodes" "a b a" "$killed" 1 20 100000
case $GF_OPENMPI in
4.1)
    MPIRUN_OPTIONS="$MPIRUN_OPTIONS --enable-recovery"
    run_says "MPI_Allreduce on communicator MPI_COMM_WORLD failed on rank" 3 net=ucx net_bytes=1 \
        "$nodes" "a b b" "$killed" 1 20 100000
    # Communicators without it go on.
    run_says "rank 2 goes on without rank 1: right" 3 net=ucx net_bytes=1 net_messages=net "$nodes" "a b c" "$others" 1 100000
    run_says "rank 3 goes on without rank 2: right" 4 net=ucx net_bytes=1 net_messages=net "$nodes" "a b b c" "$others" 2 100000
    run_says "the network to rank 1 broke" 2 net=ucx net_messages=net "$nodes" "a b" "$killed" 1 20 100000 messages
    ;;
esac
finish
