#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs by verbs with two adapters, rxe0 and rxe1 on a link of its own each, of one virtual machine whose two ranks take themselves
# for two nodes: who goes by which, a rank that has one alone, lanes of several queue pairs, settings that there is no adapter
# for; at last one link fails.
if [ "${1:-}" != inside ]; then
    GF_TIMEOUT=300
    export GF_TIMEOUT
    exec "$GF_BUILDDIR/gpufifo-env" "${srcdir:-.}/tests/vm/verbs_vm.sh" --or-skip --timeout 900 sh "$0" inside
fi
. "${srcdir:-.}/tests/mpi/runs.sh"
ip link add eth1 type dummy && ip link set eth1 mtu 9000 up && ip address add 10.78.0.1/24 dev eth1 &&
    rdma link add rxe1 type rxe netdev eth1 || exit 99
nodes=$(cd "$runs_folder" && pwd)/own_node.sh
own=$(cd "$runs_folder" && pwd)/own_setting.sh
allreduce=$GF_BUILDDIR/tests/mpi/test_allreduce
both="net_adapter=rxe0,rxe1"
verbs="net=verbs net_bytes=1 net_messages=net pipe_bytes=1 verbose=1"

# also TEXT: the last run has printed this, too.
also() {
    shown="$shown, prints: $1"
    if grep -q -e "$1" "$output"; then good; else bad "did not print: $1"; fi
}

# shellcheck disable=SC2086
{
    # The lanes of a connection begin with another adapter where another rank sends.
    run_prints "net: to rank 1, lanes 0 2 by verbs rxe0 port 1 gid [0-9]* (RoCE v2), MTU 4096" 2 $verbs $both channels=3 \
        "$nodes" "a b" "$allreduce" path=ring limit=1024 sizes
    also "net: to rank 1, lanes 1 by verbs rxe1"
    also "net: to rank 0, lanes 0 2 by verbs rxe1"
    also "net: from rank 0, lanes 1 by verbs rxe1"
    run_prints "messages to rank 1 go by the network: verbs rxe1 .*, MTU 1024, 4 queue pairs" 2 $verbs $both net_queue_pairs=4 \
        net_mtu=1024 net_zero_copy=yes net_flush=read "$nodes" "a b" "$GF_BUILDDIR/tests/mpi/test_pt2pt_stress" 1 2 5
    also "messages to rank 0 go by the network: verbs rxe0"
    run_prints "lanes 0 by verbs rxe1 .*, MTU 2048, 4 queue pairs" 2 $verbs net_queue_pairs=4 net_mtu=2048 net_adapter=rxe1 \
        channels=1 "$nodes" "a b" "$allreduce" path=ring limit=131072 sizes
    # A rank with one adapter, to which both go by its like.
    run_prints "net: to rank 1, lanes 0 1 by verbs rxe0" 2 $verbs $both channels=2 "$own" net_adapter rxe0 \
        "$nodes" "a b" "$allreduce" path=ring limit=1024 sizes
    also "net: to rank 0, lanes 0 1 by verbs rxe0"
    run_prints "messages to rank 1 go by the network: verbs rxe0" 2 $verbs $both "$own" net_adapter rxe0 \
        "$nodes" "a b" "$GF_BUILDDIR/tests/mpi/test_pt2pt_stress" 1 2 5
    also "messages to rank 0 go by the network: verbs rxe0"
    run_prints "there is no verbs adapter rxe7 here, but: rxe0 rxe1" 2 $verbs net_adapter=rxe0,rxe7 \
        "$nodes" "a b" "$allreduce" path=staged limit=64 sizes
}

# The link of one adapter goes down: what goes by that ends, and says so.
made="rank 0 has made 20 calls"
lost="failed: a lane of the connection .* rank [01] by net: verbs rxe1 port 1"
# shellcheck disable=SC2086
launch 2 $verbs $both channels=2 "$nodes" "a b" "$GF_BUILDDIR/tests/fault/killed_rank" none 20 1000 &
job=$!
shown="eth1 goes down under a job of killed_rank"
wait_until 120 grep -q "$made" "$output" && ip link set eth1 down
if wait_until 200 grep -q "$lost" "$output"; then good; else bad "did not print: $lost"; fi
wait $job
finish
