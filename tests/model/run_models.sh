#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the Spin models of the protocols: each must hold, and each of its mutants must fail, or the model proves nothing.
#   SPIN: the tool (spin). CC: the compiler (cc). GF_SRCDIR: the sources.
set -eu

source=${GF_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/model
SPIN=${SPIN:-$(command -v spin || true)}
CC=${CC:-cc}
if [ -z "$SPIN" ]; then
    echo "skipped: spin is missing (Debian and Ubuntu: spin)"
    exit 77
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cd "$build"
failed=0

# search MODEL FLAGS…: an exhaustive search; its report is in $build/report. Succeeds if it found no error and left nothing out.
# Compiling takes longer than searching: hence no optimization.
search() {
    model=$1
    shift
    "$SPIN" -a "$@" "$source/$model.pml" > report 2>&1 && $CC -O0 -DSAFETY -DCOLLAPSE -o pan pan.c > report 2>&1 || {
        cat report
        echo "FAILED: $model ($*) cannot be built"
        exit 1
    }
    ./pan -m1000000 > report 2>&1 || true
    grep -q "errors: 0" report && ! grep -q "Search not completed\|max search depth too small" report
}

# check MODEL [-DNAME=VALUE…] MUTANT…
check() {
    model=$1 size=
    shift
    while case ${1-} in -*) true ;; *) false ;; esac; do
        size="$size $1"
        shift
    done
    # shellcheck disable=SC2086
    if search "$model" $size; then
        echo "ok: $model$size holds ($(grep -o '[0-9.e+]* states, stored' report | sed 's/, stored//'))"
    else
        cat report
        echo "FAILED: $model$size"
        failed=1
    fi
    for mutant in "$@"; do
        # shellcheck disable=SC2086
        if search "$model" $size "-D$mutant"; then
            echo "FAILED: $model holds with mutant $mutant"
            failed=1
        elif grep -q "assertion violated\|invalid end state (" report; then
            echo "ok: $model with $mutant fails: $(grep -o 'assertion violated.*\|invalid end state.*' report | head -n 1)"
        else
            cat report
            echo "FAILED: $model with $mutant was not searched"
            failed=1
        fi
    done
}

check fifo RELAXED_TAIL RELAXED_OBSERVE RELAXED_HEAD LATE_SIZE DEEP
check fifo_pull RELAXED_TAIL RELAXED_OBSERVE RELAXED_HEAD DEEP NO_DRAIN
check fifo_direct RELAXED_ADDRESS EARLY_EPOCH BLIND_ADDRESS OLD_ADDRESS RELAXED_TAIL LEAVE_EARLY
check fifo_direct -DREADS RELAXED_ADDRESS EARLY_EPOCH BLIND_ADDRESS OLD_ADDRESS RELAXED_TAIL LEAVE_EARLY RELAXED_HEAD
check ll_one_shot SPLIT_LINE ONE_SLOT NO_BARRIER
check ll128 TORN ONE_FLAG NO_VOTE
check ll_wrap NO_SWEEP NO_AGREE EARLY_SWEEP
check pipe EARLY_TAIL EARLY_HEAD EARLY_END EAGER_SLOTS SPLIT_CLAIM LATE_REFUSAL
check copy_tail EARLY_TAIL EARLY_GRANT NO_CREDIT SHORT_TARGET
check copy_double EARLY_TAIL EARLY_READY EARLY_POST NO_CREDIT EARLY_GRANT
check agree NO_ROOM ENTERED_FIRST COUNT_EARLY ONE_LOOK
check agree -DLATER -DCALLS=2 ALL_PAST
check agree -DLATER -DARMED HOST_SETTLES LAST_SETTLES OTHERS_ROOM ALL_ENTERED SETTLE_LATE NO_LANDING
check turns EARLY_TURN TWO_TURNS ANY_TURN RESET
check turns -DRANKS=3 -DSTARTS=1 LAST_LATE
check agree_nodes EARLY_NO DROP_EARLY DROP_LATE ANY_CALL HASTY LONE SILENT_GONE SILENT_LEAVE
check agree_nodes -DLIVES=2 -DCALLS=1 NO_NAME SILENT_NEXT
check pull_gate LATE_COUNT RESET_ALL LEFT_LAST NO_WAIT NO_JUDGE NO_FILL FILL_CLOSED
check offer BLIND_MOVE BLIND_TAKE EARLY_MOVE EARLY_REUSE
check agent ONE_FLAG SAME_FLAG SILENT_LEAVE LATE_TAKE NOT_RUNNING HASTY_HOST STUBBORN_HOST NO_REFRESH EARLY_REFRESH NO_FLUSH
check agent_relay LONE_DONE EARLY_SHARE ONE_FLAG SILENT_LEAVE FROM_ZERO LONG_STAY
check agent_post NOT_RUNNING HASTY REUSE OLD_FIRST NO_ROOM
check net_rounds AS_THEY_COME RUN_ON
check net_loan IMPLIED HALF_YES EARLY_CREDIT EARLY_ANSWER NO_ANSWER NO_DONE EARLY_FLUSH
check net_pairs LONE_NOTICE SUM ONE_PAIR ONE_EXPECT EARLY_END LATE_SHARE
check registry ONE_RECORD NO_VERDICT ALONE
check net NO_FLUSH EARLY_FLUSH EARLY_READY LATE_SIZE EARLY_POST EARLY_GRANT NO_CREDIT TORN_CREDIT NO_LAP LATE_EXPECT EMPTY_LOST \
    LOOSE_WIRE IDLE_WIRE
check net_group EARLY_NOTIFY HALF_FILLED HALF_CREDIT HALF_FREE ONE_ARRAY ONE_SOURCE BY_IMMEDIATE HALF_ENDED FIRST_FLUSHED
check carrier NO_ROOM TORN_CREDIT NO_LAP LATE_EXPECT NO_FLUSH EARLY_PIECE EARLY_COPY EARLY_PUT UNANSWERED
check carrier -DTROUBLE SILENT EARLY_FAIL COPY_ON
check registry_leave NO_ENTRY NO_MEETING ONE_PEER EARLY_WORD NO_FLUSH LATE_FLUSH NO_NUMBER
check census LAST_JUDGES SPLIT_LEAVE NO_CLEAR NO_TICKET ONE_SHORT
check two_shot RELAXED_FLAG BLIND_FLAG NO_MEETING NO_ENTRY
exit $failed
