# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the test scripts: runs programs under mpirun on the emulated device, says how, and ends with one line.
# Nothing here depends on speed: the time limit only ends what hangs.
#
#   run RANKS [+WORD]... [NAME=VALUE]... PROGRAM [ARGUMENT]...
#       +WORD        a word of GPUFIFO_EMULATED, such as +weak or +seed=7
#       NAME=VALUE   --mca coll_gpufifo_NAME VALUE
#       PROGRAM      relative to the build folder; must exit with 0
#   run_fails TEXT RANKS ... PROGRAM
#       the same, but must exit with something else and print TEXT (a basic regular expression)
#   run_prints TEXT RANKS ... PROGRAM
#       must exit with 0 and print TEXT
#   finish
#
# From the environment: GF_BUILD, the build folder (default: the current one); GF_DEVICE, the device (default emulated);
# GF_TIMEOUT, seconds for one run; GF_MPIRUN, options for every mpirun.

srcdir=${srcdir:-.}
GF_BUILD=${GF_BUILD:-$PWD}
GF_DEVICE=${GF_DEVICE:-emulated}
GF_TIMEOUT=${GF_TIMEOUT:-150}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LD_LIBRARY_PATH="$GF_BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMPI_MCA_mca_base_component_path="$GF_BUILD/.libs:SYS_DEFAULT"
export OMPI_MCA_btl_vader_single_copy_mechanism=none     # containers refuse process_vm_readv, and Open MPI then says so each time
export OMPI_MCA_orte_base_help_aggregate=0

runs=0
failures=0
output=$(mktemp "${TMPDIR:-/tmp}/gpufifo-test.XXXXXX") || exit 99
trap 'rm -f "$output"' EXIT

# Sets: ranks, emulated, options, and the rest in "$@" of the caller by printing it is not possible in sh, so `launch` does it all.
launch() {
    ranks=$1; shift
    emulated=
    options=
    while :; do
        case $1 in
        +*) emulated=${emulated:+$emulated,}${1#+} ;;
        /* | ./* | *.py) break ;;
        *=*) options="$options --mca coll_gpufifo_${1%%=*} ${1#*=}" ;;
        *) break ;;
        esac
        shift
    done
    case $1 in
    /*) ;;
    *) first=$GF_BUILD/$1; shift; set -- "$first" "$@" ;;
    esac
    command="mpirun --oversubscribe --bind-to none -n $ranks $GF_MPIRUN --mca coll_gpufifo_device $GF_DEVICE$options"
    shown="${emulated:+GPUFIFO_EMULATED=$emulated }$command $*"
    runs=$((runs + 1))
    # word splitting of $command is meant
    GPUFIFO_EMULATED=$emulated timeout -k 5 "$GF_TIMEOUT" $command "$@" >"$output" 2>&1 </dev/null
    result=$?
}

failed() {
    failures=$((failures + 1))
    echo "FAIL  $1"
    echo "      $shown"
    sed 's/^/      | /' "$output" | tail -n 40
}

run() {
    launch "$@"
    if [ $result -eq 0 ]; then
        echo "ok    $shown"
        sed 's/^/      /' "$output"
    elif [ $result -eq 124 ] || [ $result -eq 137 ]; then
        failed "no end after $GF_TIMEOUT s"
    else
        failed "exit status $result"
    fi
}

run_prints() {
    wanted=$1; shift
    launch "$@"
    if [ $result -ne 0 ]; then
        failed "exit status $result"
    elif grep -q -e "$wanted" "$output"; then
        echo "ok    $shown"
    else
        failed "did not print: $wanted"
    fi
}

run_fails() {
    wanted=$1; shift
    launch "$@"
    if [ $result -eq 0 ]; then
        failed "succeeded, should have failed with: $wanted"
    elif [ $result -eq 124 ] || [ $result -eq 137 ]; then
        failed "no end after $GF_TIMEOUT s"
    elif grep -q -e "$wanted" "$output"; then
        echo "ok    (fails as it should) $shown"
    else
        failed "did not print: $wanted"
    fi
}

finish() {
    echo "$runs runs, $failures failed"
    [ $failures -eq 0 ] && [ $runs -gt 0 ]
    exit
}
