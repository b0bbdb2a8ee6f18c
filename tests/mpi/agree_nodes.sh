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
run_prints "differ in coll_gpufifo_net" 2 net=auto net_bytes=1 verbose=1 "$here/own_net.sh" off "$nodes" "a b" "$agree" apart 1
if unshare --pid --fork --mount-proc true 2> /dev/null; then
    run_prints "a rank cannot attach" 4 net=auto net_bytes=1 "$nodes" "a a b b" "$here/own_pids.sh" "$agree" apart 2
    run_prints "a rank cannot attach" 3 net=auto net_bytes=1 "$nodes" "b a a" "$here/own_pids.sh" "$agree" apart 3
else
    skip 2 "no right to make PID namespaces (unshare --pid)"
fi
for devices in 0 1 2 3; do
    run 2 net=auto net_bytes=1 "$nodes" "a b" "$agree" pending $devices
done
finish
