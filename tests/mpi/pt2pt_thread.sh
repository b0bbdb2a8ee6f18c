#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Point-to-point and non-blocking collectives under ThreadSanitizer, over ob1: random messages and probes, of one thread and of
# several; collectives that a thread of ours moves on with the program's. Any report fails the run. Without that sanitizer it
# shows no more than pt2pt.sh and exchange.sh do.
. "${srcdir:-.}/tests/mpi/runs.sh"

# As much history as there can be: a report whose older stack is lost matches no suppression.
export TSAN_OPTIONS="suppressions=$(cd "${srcdir:-.}" && pwd)/tests/mpi/tsan.supp history_size=7"
seed=${PT2PT_SEED:-1}
GF_TIMEOUT=300
export GF_TIMEOUT
# When a thread ends, Open MPI's watch over memory calls us where the sanitizer has no thread any more.
MPIRUN_OPTIONS="--mca memory ^patcher"

# The sanitizer cannot follow to where other memory lies if the device's takes up all of its range of addresses.
traffic() {
    ranks=$1
    shift
    run "$ranks" +memory=1073741824 "$@"
}

traffic 2 tests/mpi/test_pt2pt_stress 1 3 "$seed"
traffic 2 tests/mpi/test_pt2pt_stress 3 4 "$seed"
traffic 3 tests/mpi/test_pt2pt_stress 4 3 "$((seed + 1))"
traffic 2 +noipc tests/mpi/test_pt2pt_stress 3 3 "$((seed + 2))"
traffic 2 tests/mpi/test_pt2pt_probe threads
traffic 2 agent=3000 tests/mpi/test_pt2pt_stress 3 3 "$((seed + 5))"
# In pieces: through shared memory, which a thread of ours carries on, and as messages.
pieces="pipe_bytes=2000 pipe_chunk_bytes=65536 pipe_slots=3 pipe_depth=2"
# shellcheck disable=SC2086
traffic 2 +noipc $pieces tests/mpi/test_pt2pt_stress 3 3 "$((seed + 3))"
# shellcheck disable=SC2086
traffic 2 transport=shm fault=segment:1+ $pieces tests/mpi/test_pt2pt_stress 3 3 "$((seed + 4))"

# Part "away" looks on purpose at what copies may be writing, so it is not for here.
traffic 2 mapped=kernel tests/mpi/test_flight seed="$seed" rounds=5 receive crossed mixed turns
traffic 3 +solo mapped=copy tests/mpi/test_flight seed="$seed" rounds=5 receive mixed
traffic 2 mapped=kernel tests/mpi/test_flight_first threads seed="$seed" rounds=5 first late seen each
# By the network, whose library the sanitizer does not see into: what is ours around it. Its watch over memory breaks under it.
if grep -q "define HAVE_UCX 1" "$GF_BUILDDIR/config.h"; then
    export UCX_TLS=tcp UCX_MEM_EVENTS=n
    traffic 2 net=ucx net_messages=net pipe_bytes=2000 "$(cd "$runs_folder" && pwd)/own_node.sh" "a b" \
        "$GF_BUILDDIR/tests/mpi/test_pt2pt_stress" 3 3 "$((seed + 6))"
fi
finish
