#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Random messages (test_pt2pt_stress) of 1 to 4 ranks, of one thread and of three, by each way that messages go on one machine,
# over ob1 and ucx. PT2PT_SEED=7 PT2PT_RUNS=1000 make check TESTS=tests/mpi/pt2pt_stress.sh goes on elsewhere; a run that fails
# is shown with its seed.
. "${srcdir:-.}/tests/mpi/runs.sh"

seed=${PT2PT_SEED:-1}
odd_noipc=$(cd "$runs_folder" && pwd)/odd_noipc.sh

# choose NUMBER: one of the ways. Sets settings, and before: what starts the program, or nothing.
choose() {
    few="pipe_bytes=2000 pipe_chunk_bytes=65536 pipe_slots=3 pipe_depth=2"
    before=
    case $(($1 % 7)) in
    0) settings= ;;
    1) settings="+noipc $few" ;;
    2) settings=+weak ;;
    3) settings="transport=shm fault=segment:1+ $few" ;;
    4) settings='' before=$odd_noipc ;;
    5) settings=+solo ;;
    *) settings=agent=3000 ;;
    esac
}

# choose_words NUMBER PML: what else the program does. Of a long message that is truncated Open MPI's ob1 writes all to a short
# buffer on the host, unless its shared memory copies twice.
choose_words() {
    words=
    [ $(($1 % 3)) -eq 0 ] || words=frees
    case $2,$(($1 % 2)) in
    ob1,0) MPIRUN_OPTIONS= ;;
    ob1,1) words="$words cuts_long" MPIRUN_OPTIONS="--mca btl_vader_single_copy_mechanism none" ;;
    *) words="$words cuts_long" ;;
    esac
}

# traffic PML
traffic() {
    number=0
    while [ $number -lt "${PT2PT_RUNS:-14}" ]; do
        choose $number
        choose_words $number "$1"
        # shellcheck disable=SC2086
        run $((number % 4 + 1)) $settings $before "$GF_BUILDDIR/tests/mpi/test_pt2pt_stress" $((number / 2 % 2 * 2 + 1)) 8 \
            $((seed + number)) $words
        number=$((number + 1))
    done
}

traffic ob1
if over_ucx; then
    seed=$((seed + 1000000))
    traffic ucx
fi
finish
