#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the host does for a call of each collective does not grow with the ranks: copies and kernels, and messages of MPI, counted.
# `COSTS_RANKS="16 32 64" make check TESTS=tests/mpi/call_costs.sh` counts with more.
. "${srcdir:-.}/tests/mpi/runs.sh"

MPIRUN_OPTIONS="--mca btl tcp,self"
for ranks in ${COSTS_RANKS:-1 2 4 8}; do
    for form in 0 1 2; do
        # Up to 16 ranks all are native; of more, reductions are staged, as is what is not blocking on one.
        native=native
        [ "$ranks" -gt 1 ] && [ "$ranks" -le 16 ] || native=calls=3
        run "$ranks" mapped=kernel tests/mpi/test_call_costs form=$form $native
        sed -n "s/^| \(.*\) |$/  $form | \1 |/p" "$output"
    done
done
finish
