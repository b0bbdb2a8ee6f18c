#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks of several nodes, which are names on one machine, of which one has another setting: where the way of a call depends on it
# they say so and stage; else an end's own is right, or the ends settle it. Nothing waits for ever.
. "${srcdir:-.}/tests/mpi/runs.sh"

here=$(cd "$runs_folder" && pwd)
nodes=$here/own_node.sh
own=$here/own_setting.sh
exchange=$GF_BUILDDIR/tests/mpi/test_exchange
allreduce=$GF_BUILDDIR/tests/mpi/test_allreduce
stress=$GF_BUILDDIR/tests/mpi/test_pt2pt_stress
paths=messages,staged,pt2pt_staged,pt2pt_pulled,pt2pt_agent,pt2pt_piped
GF_TIMEOUT=60
export GF_TIMEOUT

# differs NAME VALUE WHAT-IS-SAID: between messages and what else there is.
differs() {
    run_prints "MPI_COMM_WORLD: staged .*differ in coll_gpufifo_$1: $3: give all the same" 3 net=auto between_nodes=messages \
        "$own" "$1" "$2" "$nodes" "a b b" "$allreduce" path=staged limit=4096 sizes
}

differs net off "rank 1 has off, but rank 0 has auto"
differs net_bytes 1000 "rank 1 has 1000, but rank 0 has 1048576"
differs between_nodes off "rank 1 has off, but rank 0 has messages or auto"

# Of those the largest counts.
run 3 between_bytes=1000 "$own" between_bytes 10000 "$nodes" "a b b" "$allreduce" path=$paths limit=65536 sizes
run 3 between_nodes=messages "$own" between_nodes auto "$nodes" "a b b" "$exchange" path=$paths seed=1 rounds=20 random

# Host calls alone look at nobody: all go by what rank 0 has, or the first that takes part.
run_prints "rank 2 of MPI_COMM_WORLD has the setting coll_gpufifo_deterministic = 0, but rank 1 has 1, which counts" 4 \
    "$own" deterministic 1 "$GF_BUILDDIR/tests/mpi/test_absent" 0
run_prints "rank 1 of MPI_COMM_WORLD has the setting coll_gpufifo_deterministic = 1, but rank 0 has 0, which counts" 3 \
    between_nodes=messages deterministic=0 "$own" deterministic 1 "$nodes" "a b b" "$allreduce" path=$paths limit=4096 sizes
run_prints "rank 1 of MPI_COMM_WORLD has the setting coll_gpufifo_deterministic = 0, but rank 0 has 1, which counts" 3 \
    between_nodes=messages deterministic=1 "$own" deterministic 0 "$nodes" "a b b" "$allreduce" path=staged limit=4096 sizes

# Messages go as their sender says, and in pieces of either end.
for setting in "pipe_bytes 2000" "pipe_chunk_bytes 65536"; do
    # shellcheck disable=SC2086
    run 2 pipe_bytes=20000 pipe_chunk_bytes=262144 "$own" $setting "$nodes" "a b" "$stress" 1 2 5
done
if has_ucx 8; then
    export UCX_TLS=tcp
    for setting in "net_messages pml" "net_message_bytes 100000" "net_zero_copy no" "net_device_memory no" "net_flush no" \
        "pipe_bytes 20000" "pipe_chunk_bytes 65536"; do
        # shellcheck disable=SC2086
        run 2 net=ucx net_messages=net net_message_bytes=1 pipe_bytes=1 "$own" $setting "$nodes" "a b" "$stress" 1 2 5
    done
    run_prints "rank 1 has the setting net_group = 2, but rank 0 has 1" 2 net=ucx net_bytes=1 "$own" net_group 2 \
        "$nodes" "a b" "$allreduce" path=staged limit=4096 sizes
fi
finish
