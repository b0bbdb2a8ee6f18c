#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The agreement between ranks with host and with device buffers.
. "${srcdir:-.}/tests/mpi/runs.sh"

for ranks in 1 2 3 6; do
    run $ranks tests/mpi/test_agree calls $ranks
done
run 2 tests/mpi/test_agree races 1
run 4 tests/mpi/test_agree races 2
for ranks in 2 3; do
    run $ranks mapped=kernel tests/mpi/test_agree_freed exchange
done
# What AddressSanitizer keeps of freed memory would look like a leak.
ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0
export ASAN_OPTIONS
run 2 tests/mpi/test_agree communicators 1
run 3 tests/mpi/test_agree communicators 2
unset ASAN_OPTIONS
run 2 tests/mpi/test_agree threads 1
run 3 tests/mpi/test_agree threads 2
# Needs the right to make PID namespaces; where that is missing, tests/unit/test_agree_board has the failed board.
if unshare --pid --fork --mount-proc true 2> /dev/null; then
    apart="unshare --pid --fork --mount-proc $GF_BUILDDIR/tests/mpi/test_agree apart"
    # shellcheck disable=SC2086
    run 1 tests/mpi/test_agree apart 1 : -n 1 $apart 1
    # shellcheck disable=SC2086
    run 2 tests/mpi/test_agree apart 2 : -n 1 $apart 2
else
    skip 2 "no right to make PID namespaces (unshare --pid)"
fi
# Where the receiver could fetch the message by itself, this would prove nothing.
OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_sm_single_copy_mechanism=none
export OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_btl_sm_single_copy_mechanism
for ranks in 2 3; do
    run $ranks tests/mpi/test_agree progress
done
unset OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_btl_sm_single_copy_mechanism
for devices in 0 1 2 3; do
    run 2 tests/mpi/test_agree pending $devices
done
finish
