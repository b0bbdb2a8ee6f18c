#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives whose ranks are on several nodes, by messages between device buffers (coll_gpufifo_between_nodes): nodes of one
# rank and of several, whose ranks are not always neighbours; messages that are staged, go in chunks or over UCX. The nodes are
# names on one machine.
. "${srcdir:-.}/tests/mpi/runs.sh"

here=$(cd "$runs_folder" && pwd)
nodes=$here/own_node.sh
exchange=$GF_BUILDDIR/tests/mpi/test_exchange
allreduce=$GF_BUILDDIR/tests/mpi/test_allreduce
reductions=$GF_BUILDDIR/tests/mpi/test_reductions
property=$GF_BUILDDIR/tests/property/collectives_property
paths=messages,pt2pt_staged,pt2pt_pulled,pt2pt_agent,pt2pt_piped
chunks="pipe_bytes=2000 pipe_chunk_bytes=65536"

run_prints "MPI_.*by messages between device buffers" 2 verbose=1 between_nodes=messages "$nodes" "a b" "$exchange" \
    path=messages,pt2pt_staged rounds=60 random
run 4 between_nodes=messages "$nodes" "a b b a" "$exchange" path=$paths,local seed=2 random reuse communicators
# shellcheck disable=SC2086
run 3 between_nodes=messages $chunks "$nodes" "a b a" "$exchange" path=$paths seed=3 most=20000 random
# shellcheck disable=SC2086
run 6 +weak between_nodes=messages $chunks "$nodes" "a b a a c b" "$exchange" path=$paths,staged seed=4 random \
    neighbours
# shellcheck disable=SC2086
run 2 between_nodes=messages $chunks "$nodes" "a b" "$exchange" path=messages,pt2pt_staged,pt2pt_piped seed=5 most=300000 \
    rounds=15 random

# By size; not at all; where ranks differ.
run 4 between_bytes=2000 "$nodes" "a b b a" "$exchange" path=$paths,staged seed=6 random
run 4 "$nodes" "a b b a" "$exchange" path=staged seed=6 rounds=40 random
run 4 between_nodes=off "$nodes" "a b b a" "$exchange" path=staged seed=6 rounds=40 random
run_prints "differ in .*coll_gpufifo_between_nodes" 2 verbose=1 between_bytes=1 "$here/own_setting.sh" between_nodes off \
    "$nodes" "a b" "$exchange" path=staged rounds=20 random

# Allreduce, likewise: as many rails as the smallest node has ranks, more ranks than a kernel reduces at a time, no order kept.
run 2 between_nodes=messages "$nodes" "a b" "$allreduce" path=$paths types limit=16384 sizes bits
# shellcheck disable=SC2086
run 4 +weak between_nodes=messages $chunks "$nodes" "a b b a" "$allreduce" path=$paths types limit=65536 sizes bits
run 5 between_nodes=messages "$nodes" "a b a b b" "$allreduce" path=$paths types limit=4096 sizes bits
run 18 between_nodes=messages "$nodes" "a a a a a a a a a a a a a a a a a b" "$allreduce" path=$paths limit=300 sizes
run 18 between_nodes=messages "$nodes" "a b c d e f g h i j k l m n o p q r" "$allreduce" path=$paths limit=300 sizes
run 3 between_nodes=messages "$nodes" "a b c" "$allreduce" path=$paths limit=4096 sizes bits
run_prints "a rank's share of it is shorter than coll_gpufifo_between_bytes" 4 verbose=2 between_bytes=4096 \
    "$nodes" "a b b a" "$allreduce" path=staged limit=16380 sizes
run 4 between_bytes=4096 "$nodes" "a b b a" "$allreduce" path=$paths,staged limit=65536 sizes
run 3 between_nodes=messages deterministic=1 "$nodes" "a b b" "$allreduce" path=staged limit=4096 sizes

# The other reductions, likewise: as long as one segment of a scan, and longer than all that are under way at a time.
run 2 between_nodes=messages "$nodes" "a b" "$reductions" path=$paths random repeated
run 4 +weak between_nodes=messages "$nodes" "a b b a" "$reductions" path=$paths seed=2 random reuse repeated
run 4 between_nodes=messages "$nodes" "a b b a" "$reductions" path=$paths,staged,local seed=3 rounds=80 communicators mixed
# shellcheck disable=SC2086
run 3 between_nodes=messages $chunks "$nodes" "a b a" "$reductions" path=$paths seed=4 most=20000 random
# shellcheck disable=SC2086
run 6 +weak between_nodes=messages $chunks "$nodes" "a b a a c b" "$reductions" path=$paths seed=5 rounds=80 random repeated
# shellcheck disable=SC2086
run 2 +team=3 +blocks=16 between_nodes=messages $chunks "$nodes" "a b" "$reductions" path=messages,pt2pt_staged,pt2pt_piped \
    seed=6 most=300000 rounds=30 random
run 3 between_nodes=messages "$nodes" "a b c" "$reductions" path=$paths seed=7 rounds=80 random long
run 4 between_nodes=messages "$nodes" "a b b a" "$reductions" path=$paths seed=8 long
run_prints "its blocks are shorter than coll_gpufifo_between_bytes" 4 verbose=2 between_bytes=3000 "$nodes" "a b b a" \
    "$reductions" path=$paths,staged seed=8 random
run 4 "$nodes" "a b b a" "$reductions" path=staged seed=9 rounds=40 random
run 3 between_nodes=off "$nodes" "a b b" "$reductions" path=staged seed=9 rounds=20 random
run_prints "MPI_Reduce_scatter.*messages do not keep their order" 3 verbose=2 between_nodes=messages deterministic=1 \
    "$nodes" "a b b" "$reductions" path=$paths,staged seed=10 rounds=60 random repeated

# Counts that disagree; ranks with host memory among them; a rank without data among host ranks.
run_fails "rank [12] sends 40 bytes to rank 0, which expects 44: pass counts and datatypes that agree" 3 between_nodes=messages \
    "$nodes" "a b a" "$exchange" disagree
for what in 0 1 2 3 4; do
    run_fails "rank [012] sends 40 bytes to rank [01], which expects 44: pass counts and datatypes that agree" 3 \
        between_nodes=messages "$nodes" "a b a" "$reductions" what=$what disagree
done
run 3 between_nodes=messages "$nodes" "a b b" tests/mpi/test_mixed 4
run 3 between_nodes=messages "$nodes" "a b b" "$exchange" path=$paths,staged empty

# Under strict all refuse, and nobody sends or waits: at each rank an error, or the first one ends the job.
refused="strict: this call would be staged .*its ranks are on several nodes, where messages may go through host memory"
run_prints "$refused" 2 strict=1 "$nodes" "a b" "$exchange" refused
run_prints "$refused" 3 strict=1 between_nodes=messages "$nodes" "a b b" "$exchange" refused
run_fails "$refused" 2 strict=1 between_bytes=1 "$nodes" "a b" "$exchange" random

# Memory that one rank cannot have is missed before the ranks agree, and all stage.
run_prints "no device memory to put aside what is sent" 4 verbose=2 between_nodes=messages fault=device_alloc:1+@1 \
    "$nodes" "a b b a" "$exchange" path=$paths,staged rounds=40 random
run_prints "no device memory for what other ranks send" 4 verbose=2 between_nodes=messages fault=device_alloc:1+@1 \
    "$nodes" "a b b a" "$allreduce" path=staged limit=4096 sizes

run_prints "no device memory for what other ranks send" 4 verbose=2 between_nodes=messages fault=device_alloc:2+@1 \
    "$nodes" "a b b a" "$reductions" path=$paths,staged seed=11 rounds=40 random

# What fails later does so at one rank, which takes part all the same: nobody hangs, who lacks its data gets an error, too, and
# the calls after it go well. By the number of the pass another call, or another of its steps, is hit.
fails() {
    fault=$1
    shift
    run_prints "made to fail by the fault setting" 4 between_nodes=messages fault="$fault" "$@" "$nodes" "a b b a" \
        "$exchange" path=$paths,staged rounds=20 failing
}
fails between_copy:1@1
fails between_copy:2@2
# shellcheck disable=SC2086
fails between_copy:3@0 $chunks
for pass in 3 5 8 14 20 25; do
    fails between_message:$pass@1
done
# shellcheck disable=SC2086
fails between_message:4@3 $chunks
fails launch:1@2
fails launch:2@1
reductions_fail() {
    fault=$1
    shift
    run_prints "made to fail by the fault setting" 4 between_nodes=messages fault="$fault" "$@" "$nodes" "a b b a" \
        "$reductions" path=$paths seed=12 rounds=30 failing
}
for pass in 1 7 20 41 60 77 90; do
    reductions_fail between_message:$pass@1
done
# shellcheck disable=SC2086
reductions_fail between_message:33@2 $chunks
for pass in 1 4 9 14; do
    reductions_fail launch:$pass@0
done
reductions_fail between_message:5+@3
run_prints "made to fail by the fault setting" 4 between_nodes=messages fault=between_message:2+@2 "$nodes" "a b b a" \
    "$exchange" rounds=0 failing

# Ranks that have freed the communicator before others enter a call of it, alone on their node or not.
run 3 between_nodes=messages "$nodes" "a b b" tests/mpi/test_agree_freed $paths
run 4 between_nodes=messages "$nodes" "a b b a" tests/mpi/test_agree_freed $paths

# Everything at random.
# shellcheck disable=SC2086
run 4 between_nodes=messages $chunks "$nodes" "a b b a" "$property" --rounds 80 --seed 100
run 4 between_nodes=messages deterministic=1 "$nodes" "a b a b" "$property" --rounds 60 --seed 1000
run 5 between_bytes=1000 "$nodes" "a b b c b" "$property" --rounds 60 --seed 2000
if has_ucx 2; then
    export UCX_TLS=tcp
    run 4 net=ucx net_messages=net net_message_bytes=1 between_nodes=messages "$nodes" "a b b a" "$exchange" \
        path=$paths,pt2pt_net seed=7 random
    run 4 net=ucx net_messages=net net_message_bytes=1 net_bytes=1 between_nodes=messages "$nodes" "a b a b" "$property" \
    --rounds 40
fi

# A rank is killed: mpirun says it, or a rank that has noticed before.
GF_TIMEOUT=60
export GF_TIMEOUT
run_fails "signal 9\|MPI_Alltoall on communicator MPI_COMM_WORLD failed on rank" 3 between_nodes=messages \
    "$nodes" "a b b" "$GF_BUILDDIR/tests/fault/killed_rank" 1 20 100000 exchanges
finish
