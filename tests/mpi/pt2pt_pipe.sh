#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Messages that go through host memory in pieces: where memory cannot be mapped, where no memory can be shared, and between two
# nodes, which are two host names on this machine; and those that the network carries instead, between nodes that are names.
. "${srcdir:-.}/tests/mpi/runs.sh"

# Each piece is as small as may be, so that messages have many.
pieces="pipe_bytes=60000 pipe_chunk_bytes=65536"
few="pipe_bytes=2000 pipe_chunk_bytes=65536 pipe_slots=3 pipe_depth=2"
unshared="transport=shm fault=segment:1+"

# shellcheck disable=SC2086
traffic() {
    run 2 +noipc $pieces tests/mpi/test_pt2pt_pipe
    run 3 transport=shm $pieces pipe_slots=5 pipe_depth=3 tests/mpi/test_pt2pt_pipe threads
    run 3 +noipc pipe_bytes=130 pipe_chunk_bytes=65536 tests/mpi/test_pt2pt_pull threads
    run 2 transport=shm_copy $few tests/mpi/test_pt2pt_stress 1 4 "$1"
    run 3 transport=shm $few tests/mpi/test_pt2pt_stress 1 10 "$1"
    run 2 $unshared $pieces tests/mpi/test_pt2pt_pipe wire
    run 2 $unshared $pieces pipe_depth=2 tests/mpi/test_pt2pt_open slow
    run 3 $unshared $pieces pipe_depth=1 tests/mpi/test_pt2pt_pipe wire threads
    run 3 $unshared pipe_bytes=130 pipe_chunk_bytes=65536 tests/mpi/test_pt2pt_pull threads
    run 3 $unshared $few tests/mpi/test_pt2pt_stress 3 10 "$1"
    run 2 +noipc pipe_bytes=1000000000 tests/mpi/test_pt2pt_pull staged
    run 2 +noipc tests/mpi/test_pt2pt_probe
}

# An agent that starts Open MPI's daemon here, under another host name.
two_nodes() {
    agent=$(mktemp)
    trap 'rm -f "$output" "$agent"' EXIT
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nhost=$1\nshift\nexec unshare -u sh -c "hostname $host; $*"\n' > "$agent"
    chmod +x "$agent"
    MPIRUN_OPTIONS="--host node-a:$1,node-b:$1 --mca plm_rsh_agent $agent --mca btl self,vader,tcp"
}

# By UCX over TCP, after the first one to each rank. The shortest one of test_pt2pt_pipe is staged.
net=$(cd "$runs_folder" && pwd)/own_node.sh
by_net="net=ucx net_messages=net pipe_chunk_bytes=65536"
pipe=$GF_BUILDDIR/tests/mpi/test_pt2pt_pipe

# shellcheck disable=SC2086
over_net() {
    run 3 $by_net pipe_bytes=65536 "$net" "a b c" "$pipe" net
    run 2 $by_net pipe_bytes=60000 "$net" "a b" "$pipe" net threads
    run 3 $by_net pipe_bytes=2000 "$net" "a b a" "$GF_BUILDDIR/tests/mpi/test_pt2pt_stress" 3 10 "$1"
}

# What cannot be registered goes another way, and what breaks is told.
# shellcheck disable=SC2086
net_troubles() {
    run_prints "rank 0, MPI_Irecv, .* bytes from rank 1 come in chunks: the step register" 2 $by_net pipe_bytes=60000 verbose=1 \
        fault=register:1+@0 "$net" "a b" "$pipe" wire
    run_prints "by way of pinned memory here: the step register" 2 $by_net pipe_bytes=60000 verbose=2 fault=register:5@0 \
        "$net" "a b" "$pipe" net
    run_fails "the network to rank 0 broke: it gave up: the step wire" 2 $by_net pipe_bytes=60000 fault=wire:30@0 \
        "$net" "a b" "$pipe" net
    run_prints "sent in chunks, while they are copied: coll_gpufifo_net_messages is pml" 2 net=ucx net_messages=pml \
        pipe_bytes=60000 pipe_chunk_bytes=65536 verbose=1 "$net" "a b" "$pipe" wire
    run_prints "sent in chunks, while they are copied: less than coll_gpufifo_net_message_bytes" 2 net=ucx pipe_bytes=60000 \
        pipe_chunk_bytes=65536 verbose=1 "$net" "a b" "$pipe" wire
    run_prints "messages to rank . go in chunks over MPI: ucx .* does not reach device memory" 2 net=ucx net_message_bytes=60000 \
        pipe_bytes=60000 pipe_chunk_bytes=65536 verbose=1 "$net" "a b" "$pipe" wire
}

odd_noipc=$(cd "$runs_folder" && pwd)/odd_noipc.sh

run 2 +solo transport=p2p pipe_bytes=60000 "$odd_noipc" "$GF_BUILDDIR/tests/mpi/test_pt2pt_early"
run_prints "do not fit" 2 pipe_depth=99 tests/mpi/test_pt2pt_pull staged
traffic 3
if [ "$GF_OPENMPI" != 4.1 ] || ! unshare -u true 2> /dev/null; then
    skip 3 "two nodes on this machine: needs Open MPI 4.1, and a user who may set a host name of his own"
else
    two_nodes 1
    # shellcheck disable=SC2086
    run_prints "sent in chunks" 2 verbose=1 $pieces tests/mpi/test_pt2pt_pipe wire
    two_nodes 2
    # shellcheck disable=SC2086
    run 4 $few tests/mpi/test_pt2pt_stress 1 10 5
    run 4 pipe_bytes=2000 tests/mpi/test_pt2pt_probe
    MPIRUN_OPTIONS=
fi
if grep -q "define HAVE_UCX 1" "$GF_BUILDDIR/config.h"; then
    export UCX_TLS=tcp
    over_net 6
    net_troubles
else
    skip 8 "this build has no UCX"
fi
if over_ucx; then
    traffic 4
    if grep -q "define HAVE_UCX 1" "$GF_BUILDDIR/config.h"; then
        over_net 7
    fi
fi
MPIRUN_OPTIONS="--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include sockets"
# shellcheck disable=SC2086
if "$runs_folder/run_mpi.sh" 2 $MPIRUN_OPTIONS "$GF_BUILDDIR/tests/mpi/case_13_before_init" > "$output" 2>&1; then
    run 2 +noipc $pieces tests/mpi/test_pt2pt_pipe
else
    skip 1 "pml cm does not run here"
fi
finish
