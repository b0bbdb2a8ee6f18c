#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Case 21: messages round 2^31 bytes.
. "${srcdir:-.}/tests/mpi/runs.sh"

GF_TIMEOUT=600
export GF_TIMEOUT
launch 2 tests/mpi/case_21_large
if grep '^skipped: ' "$output"; then
    exit 77
fi
judge zero "2 ranks: 4 checks, 0 failed"
launch 1 tests/mpi/case_21_large replace
if grep '^skipped: ' "$output"; then
    skip 1 "a replaced message of 2^31 bytes"
else
    judge zero "1 ranks: 2 checks, 0 failed"
fi
finish
