#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Do the tests of the protocols notice faults? Builds five harnesses (test_protocol; test_pull_kernel for the faults 11 to 13
# and 17; test_agent_kernel for those from 31 on, 50 and 51; test_copied for those from 40 on; test_net for those from 60 on) with
# ThreadSanitizer and without, where they must pass; then with each fault of kernels/mutants.h in turn, where it must fail.
#
#   fault                     noticed by
#   1 RELAXED_TAIL            both: late stores give old payload; a race
#   2 RELAXED_OBSERVE         ThreadSanitizer only: x86 and the emulated device never reorder loads
#   3 RELAXED_HEAD            ThreadSanitizer only, for the same reason
#   4 LATE_SIZE               both: a wrong size; a race
#   5 EARLY_TAIL              both: old payload
#   6 DEEP                    both: overwritten payload
#   7 SPLIT_LINE              late stores: new flag with old data
#   8 ONE_SLOT                a hang: lines overwritten before they were read
#   9 NO_BARRIER              a hang, the same within a block that runs ahead of itself
#  10 SILENT_BLOCK            a hang, the same between blocks
#  11 OPEN_GATE               a closed launch writes into what is the program's again
#  12 EARLY_END               both: the peer sees the end before the data; a race
#  13 UNCOUNTED               both, the same
#  14 TEAR_LINE               late stores: new flag with old data
#  15 ONE_FLAG                late stores: another line of the unit is old
#  16 TORN                    new flag with old data, also without late stores
#  17 AGENT_EARLY_END         both, as 12
#  18 SHORT_TAIL              a hang: no more steps
#  19 SHORT_HEAD              a hang: no more slots
#  20 EARLY_FLAG              both: old payload; a race
#  21 RELAXED_FLAG            both, the same
#  22 BLIND_FLAG              ThreadSanitizer only: x86 and the emulated device never reorder loads
#  23 NO_MEETING              both: what peers have not stored yet; a race
#  24 EARLY_EPOCH             both: data in the buffer of a call before, or a crash; a race
#  25 RELAXED_ADDRESS         both, the same
#  26 BLIND_ADDRESS           ThreadSanitizer only, as 22
#  27 OLD_ADDRESS             both: data in the buffer of a call before
#  28 LEAVE_UNREAD            both: what the program has written meanwhile; a race
#  31 SPLIT_COMMAND           both: a command of words of two commands
#  32 RELAXED_COMMAND         ThreadSanitizer only, as 2
#  33 EARLY_DONE              both: an old result; a race
#  34 SILENT_LEAVE            a hang: a command that nobody takes
#  35 OLD_TABLE               a hang: lines in slots where nobody looks any more
#  36 EARLY_SHARE             both: an old result; a race
#  37 LONE_DONE               both, the same
#  50 BLIND_SHARE             ThreadSanitizer only, as 2
#  51 EARLY_RESULT            both: a wrong result; a race
#  52 LAST_LAP                commands of the lap before are done once more
#  53 LAST_RELAY              helpers do a command once more
#  40 COPY_EARLY_TAIL         both: spoiled payload; a race
#  41 COPY_EARLY_GRANT        both: the ladder breaks; overwritten payload
#  42 COPY_NO_CREDIT          both: overwritten payload
#  43 COPY_EARLY_READY        both: spoiled payload
#  44 COPY_EARLY_POST         both: the ladder breaks; overwritten payload
#  45 COPY_LATE_SIZE          ThreadSanitizer: a race; else now and then
#  46 COPY_LOST_WAKE          a hang
#  60 NET_HALF_CREDIT         a wrong credit; or a put to where nothing is
#  61 NET_EARLY_HEAD          both: overwritten payload; a race
#  62 NET_UNEXPECTED          a notification that breaks the lane
#  63 NET_EARLY_READY         both: rubbish before the flush; a race
#  64 NET_IMPLIED             both: payload that is not there
#
#   CC: the compiler (cc). GF_SRCDIR: the sources. CMOCKA_CFLAGS, CMOCKA_LIBS: as pkg-config says.
set -eu

source=${GF_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
CC=${CC:-cc}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
flags="-std=gnu11 -O1 -pthread -ffp-contract=off -DGF_LL_FLAG_BITS=8 -I$source ${CMOCKA_CFLAGS-}"
failed=0

# Sources without and with faults.
protocol_sources="tests/unit/test_protocol tests/unit/world tests/unit/scalar kernels/emulated_block base/types"
protocol_faulty="tests/unit/stream kernels/kernels_emulated"
pull_sources="tests/unit/test_pull_kernel kernels/emulated_block base/types"
pull_faulty=kernels/kernels_emulated
played_sources="tests/unit/copied_device tests/unit/fifo_play tests/unit/scalar base/status base/types core/abort core/connector
    core/copy_ring core/fault core/segment transport/failure"
copied_sources="$played_sources tests/unit/test_copied core/exports core/import_words core/imports transport/device_part"
copied_faulty="proxy/queue proxy/recv proxy/send proxy/thread transport/copy_engine transport/copy_sender
    transport/p2p_copy_engine transport/shm_copy_engine"
net_sources="$played_sources tests/unit/test_net tests/unit/net_counts tests/unit/net_world tests/support/soft_wire
    tests/support/soft_receive base/log proxy/queue proxy/thread transport/copy_engine transport/gdrcopy transport/net
    transport/net_address transport/net_buffers transport/net_end transport/net_flush transport/net_lanes transport/net_loan
    transport/net_memory transport/net_notice transport/net_register transport/net_transport"
net_faulty="proxy/recv proxy/send transport/net_recv transport/net_send"
agent_sources="tests/unit/test_agent_kernel tests/unit/agent_rank kernels/emulated_block base/types"
agent_faulty="kernels/kernels_emulated core/command_ring"

# harness KIND FAULT: builds $build/KIND, whose objects without a fault are kept from one fault to the next.
harness() {
    kind=$1
    sanitizer=""
    [ "$kind" = plain ] || sanitizer=-fsanitize=thread
    case $2 in
    11 | 12 | 13 | 17 | 39) sources=$pull_sources faulty=$pull_faulty ;;
    3? | 5?) sources=$agent_sources faulty=$agent_faulty ;;
    6? | 98) sources=$net_sources faulty=$net_faulty ;;
    4? | 99) sources=$copied_sources faulty=$copied_faulty ;;
    *) sources=$protocol_sources faulty=$protocol_faulty ;;
    esac
    objects=""
    for file in $sources; do
        object=$build/$kind-$(basename $file).o
        [ -e "$object" ] || $CC $flags $sanitizer -c "$source/$file.c" -o "$object"
        objects="$objects $object"
    done
    for file in $faulty; do
        object=$build/$kind-$(basename $file).o
        $CC $flags $sanitizer -DGF_MUTANT="$2" -c "$source/$file.c" -o "$object"
        objects="$objects $object"
    done
    $CC $sanitizer -pthread $objects ${CMOCKA_LIBS--lcmocka} -lm -o "$build/$kind"
}

# play KIND: runs it, with its words in $build/log.
play() {
    TSAN_OPTIONS=halt_on_error=1 "$build/$1" > "$build/log" 2>&1
}

# No fault has the numbers 38, 39, 98 and 99: the harness of the agent, of the pulls, of the network's FIFOs and of the copied
# ones.
expect_pass() {
    for none in 0 38 39 98 99; do
        harness "$1" $none
        if play "$1"; then
            echo "ok: $1 build without a fault passes"
        else
            cat "$build/log"
            echo "FAILED: $1 build without a fault ($none)"
            failed=1
        fi
    done
}

# A hang is noticed by a deadline, and some interleavings show nothing: up to eight sequences are tried.
expect_failure() {
    harness "$1" "$2"
    for seed in 1 2 3 4 5 6 7 8; do
        if ! GPUFIFO_TEST_SEED=$seed GPUFIFO_TEST_DEADLINE_MS=3000 play "$1"; then
            echo "ok: fault $2 ($3) is noticed by the $1 build"
            return
        fi
    done
    echo "FAILED: fault $2 ($3) is not noticed by the $1 build"
    failed=1
}

expect_pass plain
expect_failure plain 1 "tail without release"
expect_failure plain 4 "size after tail"
expect_failure plain 5 "tail before the barrier"
expect_failure plain 6 "one slot too many"
expect_failure plain 7 "flag apart from data"
expect_failure plain 8 "slots do not alternate"
expect_failure plain 9 "no barrier between pieces"
expect_failure plain 10 "a block without data is silent"
expect_failure plain 11 "closed in vain"
expect_failure plain 12 "end before the barrier"
expect_failure plain 13 "end by the first block"
expect_failure plain 14 "a LL128 line word by word"
expect_failure plain 15 "one flag for a LL128 unit"
expect_failure plain 16 "LL128 where lines are torn"
expect_failure plain 17 "end by the agent before the barrier"
expect_failure plain 18 "tail in 32 bits"
expect_failure plain 19 "head in 32 bits"
expect_failure plain 20 "flag before the barrier"
expect_failure plain 21 "flag without release"
expect_failure plain 23 "left before peers are done"
expect_failure plain 24 "epoch before the address"
expect_failure plain 25 "address without release"
expect_failure plain 27 "an address of old"
expect_failure plain 28 "left before all is read"
expect_failure plain 40 "peer told when the copy starts"
expect_failure plain 41 "slot given back when the copy starts"
expect_failure plain 42 "copy without room"
expect_failure plain 43 "kernel told before the flush"
expect_failure plain 44 "slot posted too early"
expect_failure plain 46 "sleep without a second look"
expect_failure plain 60 "credit by its first word"
expect_failure plain 61 "slot given back when the put is begun"
expect_failure plain 62 "credit before the wire expects"
expect_failure plain 63 "kernel told before the flush"
expect_failure plain 64 "an offer without an answer"
expect_failure plain 31 "flag of a command's first word only"
expect_failure plain 33 "end of a command before the barrier"
expect_failure plain 34 "leaving without a word"
expect_failure plain 35 "a table of old"
expect_failure plain 36 "end of a share before the barrier"
expect_failure plain 37 "end of a command before its helpers'"
expect_failure plain 51 "a result before all has been gathered"
expect_failure plain 52 "the last flag of commands again"
expect_failure plain 53 "the last flag of relayed commands again"

if ! echo 'int main(void) { return 0; }' | $CC -fsanitize=thread -x c - -o "$build/probe" 2> /dev/null || ! "$build/probe"; then
    echo "FAILED: $CC cannot build with ThreadSanitizer here (Debian and Ubuntu: libtsan2 of gcc, libclang-rt-dev of clang)"
    exit 1
fi
expect_pass thread
expect_failure thread 1 "tail without release"
expect_failure thread 2 "tail without acquire"
expect_failure thread 3 "head without release"
expect_failure thread 12 "end before the barrier"
expect_failure thread 13 "end by the first block"
expect_failure thread 17 "end by the agent before the barrier"
expect_failure thread 20 "flag before the barrier"
expect_failure thread 21 "flag without release"
expect_failure thread 22 "flag without acquire"
expect_failure thread 23 "left before peers are done"
expect_failure thread 24 "epoch before the address"
expect_failure thread 25 "address without release"
expect_failure thread 26 "address without acquire"
expect_failure thread 28 "left before all is read"
expect_failure thread 40 "peer told when the copy starts"
expect_failure thread 43 "kernel told before the flush"
expect_failure thread 45 "size after tail"
expect_failure thread 61 "slot given back when the put is begun"
expect_failure thread 63 "kernel told before the flush"
expect_failure thread 32 "command without acquire"
expect_failure thread 33 "end of a command before the barrier"
expect_failure thread 36 "end of a share before the barrier"
expect_failure thread 37 "end of a command before its helpers'"
expect_failure thread 50 "helpers' words without acquire"
expect_failure thread 51 "a result before all has been gathered"

# mutate FILE TEST SED-SCRIPT WHAT: one edit of a source that is plain arithmetic; its own test must notice.
mutate() {
    sed "$3" "$source/$1.c" > "$build/mutated.c"
    if cmp -s "$source/$1.c" "$build/mutated.c"; then
        echo "FAILED: nothing to edit for: $4"
        failed=1
        return
    fi
    $CC $flags "$build/mutated.c" "$source/$2.c" ${CMOCKA_LIBS--lcmocka} -o "$build/mutated"
    if "$build/mutated" > "$build/log" 2>&1; then
        echo "FAILED: not noticed: $1: $4"
        failed=1
    else
        echo "ok: noticed: $1: $4"
    fi
}

linger="core/linger tests/unit/test_linger"
mutate $linger 's/account -= (int32_t)linger->us/account -= 0/' "to stay in vain costs nothing"
mutate $linger 's/account += GF_LINGER_SAVED/account += 0/' "a call that finds it earns nothing"
mutate $linger 's/2 \* linger->pause/linger->pause/' "trials come as often as at first"
mutate $linger 's/--linger->rest == 0/false/' "no trial ever"
mutate $linger 's/linger->account < 0/true/' "it rests after the first call in vain"
mutate $linger 's/clamp(2 \* gap_us)/clamp(gap_us)/' "it stays no longer than the last gap"
mutate $linger 's/linger->us - linger->us \/ 8/linger->us/' "it never stays less again"
exit $failed
