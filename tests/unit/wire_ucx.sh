#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The UCX wire over what is always there: TCP on the loopback interface. Not over shared memory, where UCX 1.13 does not notice
# each killed peer; it is no way between nodes.
set -u

run() {
    echo "== $*"
    env "$@" || exit 1
}

unit=$GF_BUILDDIR/tests/unit
tcp="UCX_TLS=tcp,self UCX_NET_DEVICES=lo"
# UCX rewrites mmap's code to hear of its use, which ThreadSanitizer has done before; without suppressions otherwise.
[ "${GF_SANITIZER:-}" != thread ] || tcp="$tcp UCX_MEM_EVENTS=n"

# shellcheck disable=SC2086
run $tcp timeout 120 "$unit/test_wire" ucx
[ "${GF_SANITIZER:-}" != thread ] || exit 0
# shellcheck disable=SC2086
run $tcp timeout 60 "$unit/test_ucx"
# shellcheck disable=SC2086
run $tcp timeout 60 "$unit/test_ucx_ticket"
