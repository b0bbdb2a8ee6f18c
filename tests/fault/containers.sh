#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Case 22: ranks of one node that do not see each other's processes, and so cannot attach each other's memory, as in containers
# with PID namespaces of their own. That is found by trying; collectives are staged, messages go in pieces or staged, and what
# goes how is said.
. "${srcdir:-.}/tests/mpi/runs.sh"

if ! unshare --pid --fork --mount-proc true 2> /dev/null; then
    skip 7 "no PID namespace can be made here (it takes root)"
    echo "0 passed, 0 failed, $skipped skipped"
    exit 77
fi
apart=$(cd "$runs_folder" && pwd)/own_pids.sh
tests=$GF_BUILDDIR/tests/mpi
MPIRUN_OPTIONS="--mca btl_vader_single_copy_mechanism none"

run_prints "cannot share memory (separate containers" 3 verbose=1 "$apart" "$tests/test_allreduce" path=staged limit=65536 sizes
run_prints "sent in chunks.*no memory can be shared with rank . (separate containers" 2 verbose=2 pipe_bytes=2000 \
    pipe_chunk_bytes=65536 "$apart" "$tests/test_pt2pt"
run 3 "$apart" "$tests/test_pt2pt"
run 3 pipe_bytes=2000 pipe_chunk_bytes=65536 "$apart" "$tests/test_pt2pt_stress" 1 5 7
run 2 "$apart" "$tests/test_pt2pt_probe"
run_fails "ranks of a node share one PID namespace" 2 strict=1 "$apart" "$tests/test_pt2pt"
run 3 transport=shm_copy "$apart" "$tests/test_allreduce" path=staged limit=4096 sizes
finish
