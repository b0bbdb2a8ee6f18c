#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Point-to-point with device buffers, over the PMLs ob1, ucx and cm. Over cm only what it can: in Open MPI 4.1 the one that runs
# without a fabric, over ofi, stalls on matched probes and long messages without a receive, in host memory and without
# gpufifo too, and takes minutes for what the others do in seconds.
. "${srcdir:-.}/tests/mpi/runs.sh"

odd_noipc=$(cd "$runs_folder" && pwd)/odd_noipc.sh
own_gpu=$(cd "$runs_folder" && pwd)/own_gpu.sh

traffic() {
    for ranks in 1 2 3 4; do
        run $ranks tests/mpi/test_pt2pt
        run $ranks tests/mpi/test_pt2pt_types
        run_lacks "Read -1, expected" $ranks tests/mpi/test_pt2pt_errors
        run $ranks tests/mpi/test_pt2pt_probe
    done
    run 2 tests/mpi/test_pt2pt_pull
    run 3 tests/mpi/test_pt2pt_absent
    run 2 tests/mpi/test_pt2pt_self
    run 2 tests/mpi/test_pt2pt_open
    run 3 tests/mpi/test_pt2pt_pull threads
    run 2 +noipc tests/mpi/test_pt2pt_pull staged
    run 2 +solo tests/mpi/test_pt2pt_pull staged
    run 2 +solo "$own_gpu" "$GF_BUILDDIR/tests/mpi/test_pt2pt_pull"
    run_prints "come in chunks: the emulated device has no IPC" 2 verbose=1 "$odd_noipc" "$GF_BUILDDIR/tests/mpi/test_pt2pt"
    run 3 "$odd_noipc" "$GF_BUILDDIR/tests/mpi/test_pt2pt_types"
    run 3 "$odd_noipc" "$GF_BUILDDIR/tests/mpi/test_pt2pt_errors"
    run 2 tests/mpi/test_pt2pt threads
    run 2 tests/mpi/test_pt2pt_probe threads
    run 2 +noipc tests/mpi/test_pt2pt_probe
    run 2 +solo tests/mpi/test_pt2pt_probe
    if [ "$GF_OPENMPI" = 4.1 ]; then
        echo "Open MPI 4.1 has no partitioned communication"
    else
        run 2 tests/mpi/test_pt2pt_partitioned
        run 3 +noipc tests/mpi/test_pt2pt_partitioned
    fi
}

traffic
if over_ucx; then
    traffic
fi

# over_cm PROVIDER: what follows goes over the PML cm; false where that does not run.
over_cm() {
    MPIRUN_OPTIONS="--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include $1"
    # shellcheck disable=SC2086
    "$runs_folder/run_mpi.sh" 2 $MPIRUN_OPTIONS "$GF_BUILDDIR/tests/mpi/case_13_before_init" > "$output" 2>&1
}

# What one provider stalls on, the other may do.
if over_cm sockets; then
    run 2 tests/mpi/test_pt2pt_pull device
    run 3 tests/mpi/test_pt2pt_pull device threads
    run 3 tests/mpi/test_pt2pt_errors
    run 3 tests/mpi/test_pt2pt_absent
    run 2 tests/mpi/test_pt2pt_open freed
else
    skip 5 "pml cm does not run here over sockets"
fi
if over_cm "tcp;ofi_rxm"; then
    run 2 tests/mpi/test_pt2pt_types
    run 2 tests/mpi/test_pt2pt_self
    run 2 tests/mpi/test_pt2pt_table
    for part in synchronise "long kernel" "free another" "send first"; do
        run 2 tests/mpi/test_pt2pt_legal "$part"
    done
else
    skip 7 "pml cm does not run here over tcp"
fi
finish
