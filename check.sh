#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs all tests on this machine, a fresh Debian or Ubuntu included: installs what is missing, builds in build/ (and build-*/ with
# sanitizers), and ends with the line "N passed, N failed". What was skipped, if anything, is said before, and why.
#   ./check.sh          everything: about half an hour on two cores
#   ./check.sh quick    the plain build and its tests only
set -u

source=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/setup.sh
. "$source/tests/setup.sh"

case "${1:-all}" in
all | quick) what=${1:-all} ;;
*) die "unknown argument $1: give quick, or nothing for everything" ;;
esac

passed=0
failed=0
skipped=0
mkdir -p "$source/build"

# add NAME PASSED FAILED SKIPPED SINCE
add() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    printf '  %-10s %5d passed %3d failed %3d skipped   %4d s\n' "$1" "$2" "$3" "$4" $((SECONDS - $5))
}

show_end_of() {
    sed 's/^/    | /' "$1" | tail -n "${2:-40}"
}

# What failed in a log of tests/mpi/runs.sh, wherever it stands there, or else its end.
show_failures_of() {
    local failures

    failures=$(awk '/^FAIL: / { shown = 1; print; next } /^[^ ]/ { shown = 0 } shown' "$1" | cut -c1-300 | head -n 120)
    if [ -n "$failures" ]; then
        printf '    | %s\n' "${failures//$'\n'/$'\n    | '}"
        show_end_of "$1" 2
    else
        show_end_of "$1" 60
    fi
}

# one NAME MINUTES COMMAND…: a part that either works or not, or says itself "N passed, N failed".
one() {
    local name=$1 minutes=$2 since=$SECONDS log=$source/build/part-$1.log good=0 counted
    shift 2
    timeout -k 30 $((minutes * 60)) "$@" > "$log" 2>&1 < /dev/null && good=1
    counted=$(sed -n -E 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" | tail -n 1)
    : "${counted:=$good $((1 - good))}"
    if [ $good -eq 0 ]; then
        show_end_of "$log"
        [ "${counted#* }" -gt 0 ] || counted="${counted% *} 1"
    fi
    add "$name" "${counted% *}" "${counted#* }" 0 "$since"
}

# tests NAME FOLDER MINUTES TARGET: make check in a build, counted test by test.
tests() {
    local name=$1 folder=$source/$2 since=$SECONDS log=$source/build/part-$1.log counted good=0 p f s
    find "$folder" \( -name '*.trs' -o -name '*.log' \) -path '*tests/*' -type f -delete
    # One more than there are cores: many tests wait now and then, for ranks to start or for what is to hang.
    (cd "$folder" && timeout -k 30 $(($3 * 60)) make -k -j$((jobs + 1)) "$4") > "$log" 2>&1 < /dev/null && good=1
    counted=$("$source/tests/count_results.sh" "$folder")
    read -r p f s <<< "$(tail -n 1 <<< "$counted")"
    sed '$d' <<< "$counted" | while read -r kind test why; do
        echo "  $kind $test $why"
        [ "$kind" != FAIL ] || show_failures_of "$folder/${test%:}"
    done
    if [ $good -eq 0 ] && [ "$f" -eq 0 ]; then
        show_end_of "$log"
        f=1
    fi
    if [ $((p + f + s)) -eq 0 ]; then
        echo "  no test ran in $2"
        f=1
    fi
    add "$name" "$p" "$f" "$s" "$since"
}

# sanitized NAME FOLDER LIST MINUTES TARGET
sanitized() {
    local since=$SECONDS
    # CUDA's driver and nvcc know nothing of sanitizers; the emulated device runs the same kernels.
    rm -f "$source/$2/configured-with"
    if build_in "$2" --without-cuda --enable-sanitizer="$3" CFLAGS="-g -O1"; then
        tests "$1" "$2" "$4" "$5"
    else
        show_end_of "$source/build/$2.log"
        add "$1" 0 1 0 "$since"
    fi
}

finish() {
    echo
    [ $skipped -eq 0 ] || echo "$skipped skipped; why is said above"
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}

# shellcheck disable=SC2086
packages_install $build_packages g++ libcmocka-dev spin cppcheck python3-mpi4py python3-pip python3-matplotlib \
    libucx-dev libibverbs-dev ibverbs-providers qemu-system-x86 busybox-static iproute2 slurm-wlm munge
"$source/tests/vm/verbs_vm.sh" --install > "$source/build/vm.log" 2>&1 < /dev/null ||
    echo "no kernel for the virtual machine (build/vm.log); its tests will be skipped"

since=$SECONDS
# Anew: tools may have been installed since the last time, and warnings show only where something is compiled.
if ! build_anew build "$(kernels_option)"; then
    explain_failure
    add build 0 1 0 $since
    finish
fi
sed -n '/^gpufifo [0-9]/,/^Next:/p' "$source/build/build.log" | sed '/^Next:/d'
add build 1 0 0 $since
one warnings 1 "$source/tests/check_warnings.sh" "$source/build/build.log"
one counting 1 "$source/tests/count_results.sh" --self-test
tests tests build 45 check
if [ "$what" = all ]; then
    one configure 10 "$source/tests/check_configure.sh" "$source"
    one install 5 "$source/tests/check_install.sh" "$source/build"
    sanitized address build-address address,undefined 50 check
    sanitized thread build-thread thread 10 check-thread
    one distcheck 30 make -C "$source/build" -j"$jobs" distcheck AM_MAKEFLAGS="TESTS='\$(RELEASE_TESTS)'"
fi
finish
