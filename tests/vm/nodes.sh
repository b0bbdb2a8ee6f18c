#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs over two nodes by verbs: two virtual machines with soft-RoCE and a link between them. Allreduce and messages go by the
# network, from buffer to buffer and through slots or pieces, each with each way to flush, and without device memory; what they
# print shows which way it was. What is staged goes by Open MPI's TCP. An emulated processor is slow: what more ranks and more
# data would show, the jobs by UCX show (tests/mpi/net.sh, pt2pt_pipe.sh); and it may stand still for seconds, so acknowledgements
# have minutes. At last node2 vanishes.
if [ "${1:-}" != inside ]; then
    # libgdrapi is the stand-in of the unit tests, which says whether it was asked.
    LD_LIBRARY_PATH=$GF_BUILDDIR/tests/support/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GF_TIMEOUT=300
    GF_GDRAPI_TELLS=1
    export LD_LIBRARY_PATH GF_TIMEOUT GF_GDRAPI_TELLS
    exec "$GF_BUILDDIR/gpufifo-env" "${srcdir:-.}/tests/vm/verbs_vm.sh" --or-skip --nodes 2 --timeout 1200 sh "$0" inside
fi
. "${srcdir:-.}/tests/mpi/runs.sh"
MPIRUN_OPTIONS="--host node1,node2 --mca btl self,tcp"
verbs="net=verbs net_timeout=25 net_bytes=1 net_messages=net pipe_bytes=2000 pipe_chunk_bytes=65536"
slots="channels=2 simple_slot_bytes=128"

lent="without copies, where both ends' buffers are registered"

# What no run but those that are to lend may print.
#   copied RANKS ... PROGRAM
copied() {
    launch "$@"
    if grep -q "$lent" "$output"; then
        bad "data went from buffer to buffer"
    else
        judge zero "between nodes by coll_gpufifo_net, from rank 0 to 1, 1 to 0"
    fi
}

# The run before this one.
also_printed() {
    grep -q -e "$1" "$output" || bad "did not print: $1"
}

by_gdrcopy="libgdrapi's stand-in: [1-9][0-9]* words were read"

# shellcheck disable=SC2086
{
    sizes="tests/mpi/test_allreduce path=ring limit=256 sizes"
    run_prints "net: to rank . $lent" 2 verbose=1 $verbs $slots net_zero_copy=yes net_flush=read tests/mpi/test_allreduce \
        path=ring limit=1024 sizes
    run_prints "net: from rank . $lent" 2 verbose=1 $verbs $slots net_zero_copy=yes net_flush=gdrcopy net_group=2 $sizes
    also_printed "$by_gdrcopy"
    copied 2 verbose=1 $verbs $slots net_zero_copy=no net_flush=read $sizes
    copied 2 verbose=1 $verbs channels=8 simple_slot_bytes=128 net_zero_copy=no net_flush=gdrcopy net_group=8 $sizes
    also_printed "$by_gdrcopy"
    also_printed "2 nodes, .* 8 blocks a rank"
    also_printed "net: to rank 1, lanes 0 by"
    copied 2 verbose=1 $verbs $slots net_device_memory=no $sizes
    run 2 $verbs tests/mpi/test_stage only=Alltoall rounds=1
    run_prints "received by the network: this end's buffer is registered" 2 verbose=1 $verbs net_flush=read \
        tests/mpi/test_pt2pt_pipe net few
    run_prints "received by the network: this end's buffer is registered" 2 verbose=1 $verbs net_flush=gdrcopy \
        tests/mpi/test_pt2pt_pipe net few
    also_printed "$by_gdrcopy"
    run_prints "received by the network: by way of pinned memory here" 2 verbose=1 $verbs net_device_memory=no \
        tests/mpi/test_pt2pt_pipe net few
    run_prints "net: what was at 0x[0-9a-f]* was freed, and is forgotten" 2 $verbs verbose=2 tests/mpi/test_pt2pt_pipe net freed
    run_prints "0 of .* points differ.*: right" 2 $verbs examples/jacobi --size 32 --steps 4
}

# Rank 1 stops first, so that nothing is under way when its node does not answer any more. mpirun would wait for that node's
# daemon; the machine's end ends it.
made="rank 0 has made 20 calls"
lost="failed: a lane of the connection .* rank 1 by net: verbs rxe0 .*: transport retry counter exceeded"
launch 2 net=verbs net_bytes=1 tests/fault/killed_rank none 20 1000 &
shown="node2 vanishes from a job of killed_rank"
if wait_until 120 grep -q "$made" "$output"; then
    process=$(sed -n 's/.*rank 1 is process //p' "$output")
    vm-rsh node2 "kill -STOP $process && sleep 3 && ip link set eth0 down" &
fi
if wait_until 200 grep -q "$lost" "$output"; then
    good
else
    bad "did not print: $lost"
fi
finish
