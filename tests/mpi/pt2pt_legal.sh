#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that must not hang, over ob1 and ucx, on a device with each of its vices.
. "${srcdir:-.}/tests/mpi/runs.sh"

programs() {
    for part in synchronise "long kernel" "free another" "reuse address" overwrite thousand "send first"; do
        run 2 "$@" tests/mpi/test_pt2pt_legal "$part"
    done
}

for ranks in 1 3; do
    for part in synchronise "long kernel" "free another" "reuse address" overwrite thousand "send first"; do
        run $ranks tests/mpi/test_pt2pt_legal "$part"
    done
done
programs
programs +solo
programs +noipc
# Nothing else starts while a kernel of the program's runs, on a device of one block that lets kernels wait for one another.
for filled in +filled,blocks=1 +queued,filled,blocks=1; do
    for part in "long kernel" "long kernels"; do
        run 2 $filled tests/mpi/test_pt2pt_legal "$part"
    done
    run 3 $filled tests/mpi/test_pt2pt_legal "long kernels"
    run 2 $filled tests/mpi/test_pt2pt_legal "after large"
    run 2 $filled agent=3000 tests/mpi/test_pt2pt_legal "long kernels"
    run 2 $filled +noipc tests/mpi/test_pt2pt_legal "long kernels"
    run 2 $filled +solo tests/mpi/test_pt2pt_legal "long kernel"
done
run 2 +lingering tests/mpi/test_pt2pt_legal "freed before"
if over_ucx; then
    programs
fi
finish
