# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by test scripts: runs MPI programs one after the other, says how each was run and what it said, and ends with
# "N passed, N failed". Nothing here depends on speed: the time limit only ends what hangs.
#
#   run RANKS [+WORD]... [NAME=VALUE]... PROGRAM [ARGUMENT]...
#       +WORD        a word of GPUFIFO_EMULATED, such as +weak or +seed=7
#       NAME=VALUE   --mca coll_gpufifo_NAME VALUE
#       PROGRAM      relative to the build folder; must end with 0
#   run_prints TEXT RANKS ... PROGRAM     the same; must print TEXT, a basic regular expression
#   run_silent RANKS ... PROGRAM          must print nothing about gpufifo
#   run_lacks TEXT RANKS ... PROGRAM      must not print TEXT, in whichever case, and end with 0
#   run_fails TEXT RANKS ... PROGRAM      must print TEXT and end with something else than 0
#   run_says TEXT RANKS ... PROGRAM       must print TEXT, and end anyhow
#   wait_until SECONDS COMMAND...        whether it came true in time, which is generous: nothing is measured
#   over_ucx                              what follows goes over the PML ucx; false, and says so, where there is none
#   has_ucx                               whether this build has the wire ucx; where not, N runs are skipped: has_ucx N
#   skip N WHY                            N runs that this machine cannot make
#   finish
#
# From the environment: what run_mpi.sh needs; MPIRUN_OPTIONS, more options for mpirun. A script may set launcher,
# which is called as run_mpi.sh is, and starts, what it says to have started them.

runs_folder=${srcdir:-.}/tests/mpi
launcher=$runs_folder/run_mpi.sh starts=mpirun
OMPI_MCA_orte_base_help_aggregate=0      # Open MPI 4.1 loses messages of ranks that fail at once when it aggregates them
export OMPI_MCA_orte_base_help_aggregate
passed=0
failed=0
skipped=0
output=$(mktemp) || exit 99
trap 'rm -f "$output"' EXIT

# Sets shown (the command as text), result (its exit status) and the file $output.
launch() {
    ranks=$1
    shift
    words= options=${MPIRUN_OPTIONS:+ $MPIRUN_OPTIONS}
    while :; do
        case $1 in
        +*) words=${words:+$words,}${1#+} ;;
        /*) break ;;
        *=*) options="$options --mca coll_gpufifo_${1%%=*} ${1#*=}" ;;
        *) break ;;
        esac
        shift
    done
    case $1 in
    /*) ;;
    *)
        program=$GF_BUILDDIR/$1
        shift
        set -- "$program" "$@"
        ;;
    esac
    shown="${words:+GPUFIFO_EMULATED=$words }$starts -n $ranks$options $*"
    # shellcheck disable=SC2086
    GPUFIFO_EMULATED=$words "$launcher" "$ranks" $options "$@" > "$output" 2>&1 < /dev/null
    result=$?
}

# mpirun of Open MPI 4.1 now and then loses the help message of a rank, and says so: then a run shows nothing about what was said.
# launch_until_said WANTED-STATUS TEXT ...: again, as long as nothing else is amiss.
launch_until_said() {
    status=$1 wanted=$2
    shift 2
    for attempt in 1 2 3 4 5 6; do
        launch "$@"
        grep -q "ORTE_ERROR_LOG.*show_help\.c" "$output" || break
        grep -q -e "$wanted" "$output" && break
        case $status$result in
        zero0 | nonzero[1-9]* | any*) ;;
        *) break ;;
        esac
    done
    judge "$status" "$wanted"
}

bad() {
    failed=$((failed + 1))
    echo "FAIL: $1"
    echo "  $shown"
    tail -n 40 "$output" | awk '{ print "  | " $0 }'       # ends a line that is still being written, as sed does not
}

good() {
    passed=$((passed + 1))
    echo "ok: $shown"
    tail -n 3 "$output" | awk '{ print "  | " $0 }'
}

# 137: killed as the time limit was over, or what mpirun gives where a rank was killed.
timed_out() {
    [ $result -eq 124 ] || { [ $result -eq 137 ] && ! grep -q "signal 9 (Killed)" "$output"; }
}

# judge WANTED-STATUS TEXT: zero, nonzero or any; TEXT may be empty.
judge() {
    if timed_out; then
        bad "did not end within the time limit"
    elif [ "$1" = zero ] && [ $result -ne 0 ]; then
        bad "ended with $result"
    elif [ "$1" = nonzero ] && [ $result -eq 0 ]; then
        bad "ended with 0, but should fail"
    elif [ -n "$2" ] && ! grep -q -e "$2" "$output"; then
        bad "did not print: $2"
    else
        good
    fi
}

run() {
    launch "$@"
    judge zero ""
}

run_prints() {
    launch_until_said zero "$@"
}

run_says() {
    launch_until_said any "$@"
}

run_lacks() {
    unwanted=$1
    shift
    launch "$@"
    if [ $result -eq 0 ] && grep -q -i -e "$unwanted" "$output"; then
        bad "should not print: $unwanted"
    else
        judge zero ""
    fi
}

run_silent() {
    run_lacks gpufifo "$@"
}

run_fails() {
    launch_until_said nonzero "$@"
}

over_ucx() {
    if "$(dirname "$MPIRUN")/ompi_info" --parsable | grep -q "^mca:pml:ucx:"; then
        export UCX_TLS=self,tcp,sysv,posix
        MPIRUN_OPTIONS="--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any"
    else
        echo "this Open MPI has no pml ucx"
        return 1
    fi
}

has_ucx() {
    grep -q "define HAVE_UCX 1" "$GF_BUILDDIR/config.h" || { skip "$1" "this build has no UCX" && return 1; }
}

wait_until() {
    tries=$(($1 * 5))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.2
    done
}

skip() {
    echo "skipped: $2"
    skipped=$((skipped + $1))
}

finish() {
    if [ $skipped -gt 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
}
