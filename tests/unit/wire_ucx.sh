#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The UCX wire over what is always there: TCP on the loopback interface. Not over shared memory, where UCX 1.13 does not notice
# each killed peer; it is no way between nodes.
set -u

log=$(mktemp) || exit 99
trap 'rm -f "$log"' EXIT

# attempt SETTING... PROGRAM...: succeeds, or ends the script; 1: LeakSanitizer broke down.
attempt() {
    local status
    echo "== $*"
    env "$@" > "$log" 2>&1
    status=$?
    cat "$log"
    [ $status -ne 0 ] || return 0
    grep -q "LeakSanitizer has encountered a fatal error" "$log" || exit 1
    return 1
}

# Again where LeakSanitizer breaks down itself, as it does when it looks at threads that are about to end: now and then, and on a
# busy machine always. Then leaks are not looked for, and all the rest is.
run() {
    for _ in 1 2 3 4; do
        ! attempt "$@" || return 0
    done
    echo "LeakSanitizer broke down four times: leaks are not looked for"
    attempt ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" "$@" || exit 1
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
