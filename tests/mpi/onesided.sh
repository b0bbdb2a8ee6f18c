#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided communication with device memory: errors and sentences, over each of Open MPI's components for it.
. "${srcdir:-.}/tests/mpi/runs.sh"

info="$(dirname "$MPIRUN")/ompi_info"
for osc in $("$info" --parsable | sed -n 's/^mca:osc:\([a-z0-9]*\):version:.*/\1/p' | sort -u); do
    case $osc in
    monitoring | portals4) continue ;;
    ucx)
        over_ucx || continue
        MPIRUN_OPTIONS="$MPIRUN_OPTIONS --mca osc ucx"
        ;;
    *) MPIRUN_OPTIONS="--mca osc $osc" ;;
    esac
    for ranks in 1 2 3; do
        run $ranks tests/mpi/test_onesided
    done
done
MPIRUN_OPTIONS=
run 4 tests/mpi/test_onesided
run_fails "MPI_Win_create on rank .* fails: the memory of this rank" 2 tests/mpi/test_onesided window
run_fails "MPI_Put on rank .* fails: a buffer of this call" 2 tests/mpi/test_onesided put
finish
