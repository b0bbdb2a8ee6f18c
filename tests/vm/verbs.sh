#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs wire on soft-RoCE, in one virtual machine for all of it. Each program has its own limit, which only ends a hang.
set -u

machine=${srcdir:-.}/tests/vm/verbs_vm.sh
tests=("tests/vm/test_verbs" "tests/vm/test_verbs_settings" "tests/vm/test_verbs_pairs" "tests/vm/test_verbs_adapters"
    "tests/vm/test_verbs_net" "tests/unit/test_wire verbs")

cd "$GF_BUILDDIR" || exit 99
# shellcheck disable=SC2016
"$machine" --or-skip --timeout 460 bash -c '
    status=0
    for test in "$@"; do
        timeout -k 5 200 $test 2>&1 || status=1
    done
    exit $status' verbs "${tests[@]}"
