#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The agreement between ranks of several nodes, by their names alone, with host and with device buffers.
. "${srcdir:-.}/tests/mpi/runs.sh"

here=$(cd "$runs_folder" && pwd)
nodes=$here/own_node.sh
agree=$GF_BUILDDIR/tests/mpi/test_agree

# A communicator that cannot be native: all its calls are staged. Of ranks that differ in their setting; of a node whose ranks
# cannot share memory, be it the leader's, or another one, whose leader has to tell.
run_prints "differ in coll_gpufifo_net" 2 net=auto net_bytes=1 verbose=1 "$here/own_setting.sh" net off \
    "$nodes" "a b" "$agree" apart 1
if unshare --pid --fork --mount-proc true 2> /dev/null; then
    run_prints "a rank cannot attach" 4 net=auto net_bytes=1 "$nodes" "a a b b" "$here/own_pids.sh" "$agree" apart 2
    run_prints "a rank cannot attach" 3 net=auto net_bytes=1 "$nodes" "b a a" "$here/own_pids.sh" "$agree" apart 3
else
    skip 2 "no right to make PID namespaces (unshare --pid)"
fi
for devices in 0 1 2 3; do
    run 2 net=auto net_bytes=1 "$nodes" "a b" "$agree" pending $devices
done

# Natively, over UCX: exactly the calls whose ranks all have device buffers, and that are long enough. Leaders of nodes that alone
# have host buffers, and members; nodes of one rank and of several, whose ranks are not always neighbours.
if [ "${GF_SANITIZER:-no}" != no ]; then
    skip 7 "under a sanitizer the parts above have to do: what is added here is the network's, which has tests of its own"
elif has_ucx 7; then
    export UCX_TLS=tcp
    run 3 net=ucx net_bytes=1 "$nodes" "a b b" "$agree" calls 1
    run 6 net=ucx net_bytes=1 "$nodes" "a b a c b c" "$agree" calls 2
    run 4 net=ucx net_bytes=1000 "$nodes" "a b b a" "$agree" calls 3 1000
    run 4 net=ucx net_bytes=1 "$nodes" "a b c a" "$agree" races 4
    run 3 net=ucx net_bytes=1 "$nodes" "a b b" "$agree" communicators 5
    run 3 net=ucx net_bytes=1 "$nodes" "a b b" "$agree" threads 6
    run 4 net=ucx net_bytes=1 "$nodes" "a a b b" "$GF_BUILDDIR/tests/mpi/test_mixed" 7
fi
finish
