#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Several nodes on one machine, by their names alone: ranks of different ones share no memory, so their collectives are staged and
# their messages go in chunks; ranks of one do as ever.
. "${srcdir:-.}/tests/mpi/runs.sh"

nodes=$(cd "$runs_folder" && pwd)/own_node.sh
tests=$GF_BUILDDIR/tests/mpi

run_prints "its ranks are on several nodes" 2 verbose=1 "$nodes" "a b" "$tests/test_allreduce" path=staged limit=65536 sizes
run 3 "$nodes" "a b a" "$tests/test_allreduce" path=staged limit=16384 sizes
run 3 node=a tests/mpi/test_allreduce path=one_shot limit=16384 sizes

# With two ranks of two nodes no message is fetched.
launch 2 verbose=2 pipe_bytes=2000 pipe_chunk_bytes=65536 "$nodes" "a b" "$tests/test_pt2pt"
if grep -q "rank 0, .* to rank 1: offered\|rank 1, .* to rank 0: offered" "$output"; then
    bad "a message was fetched from another node"
else
    judge zero "sent in chunks"
fi
run_prints "the receiver fetches them" 3 verbose=2 pipe_bytes=2000 "$nodes" "a b b" "$tests/test_pt2pt"
run 4 pipe_bytes=2000 pipe_chunk_bytes=65536 "$nodes" "a b b a" "$tests/test_pt2pt_stress" 1 5 7

run 4 mapped=kernel "$nodes" "a b b a" "$GF_BUILDDIR/tests/property/collectives_property" --rounds 60
finish
