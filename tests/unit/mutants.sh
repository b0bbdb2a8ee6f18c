#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Do the tests of the protocols notice faults? Builds the harness with ThreadSanitizer and without, where it must pass; then
# with each fault of kernels/mutants.h in turn, where it must fail.
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
#
#   CC: the compiler (cc). GF_SRCDIR: the sources. CMOCKA_CFLAGS, CMOCKA_LIBS: as pkg-config says.
set -eu

source=${GF_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
CC=${CC:-cc}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
flags="-std=gnu11 -O1 -g -pthread -ffp-contract=off -DGF_LL_FLAG_BITS=8 -I$source ${CMOCKA_CFLAGS-}"
failed=0

# harness KIND FAULT: builds $build/KIND, whose objects without a fault are kept from one fault to the next.
harness() {
    kind=$1
    sanitizer=""
    [ "$kind" = plain ] || sanitizer=-fsanitize=thread
    for file in tests/unit/test_protocol tests/unit/world tests/unit/scalar kernels/emulated_block base/types; do
        object=$build/$kind-$(basename $file).o
        [ -e "$object" ] || $CC $flags $sanitizer -c "$source/$file.c" -o "$object"
    done
    for file in tests/unit/stream kernels/kernels_emulated; do
        $CC $flags $sanitizer -DGF_MUTANT="$2" -c "$source/$file.c" -o "$build/$kind-$(basename $file).o"
    done
    $CC $sanitizer -pthread "$build/$kind"-*.o ${CMOCKA_LIBS--lcmocka} -lm -o "$build/$kind"
}

# play KIND: runs it, with its words in $build/log.
play() {
    TSAN_OPTIONS=halt_on_error=1 "$build/$1" > "$build/log" 2>&1
}

expect_pass() {
    harness "$1" 0
    if play "$1"; then
        echo "ok: $1 build without a fault passes"
    else
        cat "$build/log"
        echo "FAILED: $1 build without a fault"
        failed=1
    fi
}

# A hang is noticed by a deadline, and some interleavings show nothing: up to four sequences are tried.
expect_failure() {
    harness "$1" "$2"
    for seed in 1 2 3 4; do
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

if ! echo 'int main(void) { return 0; }' | $CC -fsanitize=thread -x c - -o "$build/probe" 2> /dev/null || ! "$build/probe"; then
    echo "FAILED: $CC cannot build with ThreadSanitizer here (Debian and Ubuntu: libtsan2 of gcc, libclang-rt-dev of clang)"
    exit 1
fi
expect_pass thread
expect_failure thread 1 "tail without release"
expect_failure thread 2 "tail without acquire"
expect_failure thread 3 "head without release"
exit $failed
