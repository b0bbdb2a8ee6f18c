#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Case 24: a rank is killed in the middle of a collective. The job ends within 30 seconds, no process of it is left, and, where
# mpirun lets the others go on (--enable-recovery), their message names the rank.
. "${srcdir:-.}/tests/mpi/runs.sh"

GF_TIMEOUT=30      # not a measurement: beyond it the survivors are spinning
export GF_TIMEOUT

no_process_left() {
    left=
    for process in $(sed -n 's/.*is process \([0-9]*\)$/\1/p' "$output"); do
        # a dying process may need a moment
        for moment in 1 2 3 4 5 6 7 8 9 10; do
            kill -0 "$process" 2> /dev/null || break
            sleep 0.5
        done
        kill -0 "$process" 2> /dev/null && left="$left $process"
    done
    if [ -n "$left" ]; then
        bad "processes are left:$left"
    else
        good
    fi
}

# mpirun says it, or a rank that has noticed before.
killed="signal 9\|rank 1 (process [0-9]* on .*) has ended"
for algorithm in one_shot ring host; do
    for count in 2 100000; do
        run_fails "$killed" 3 algorithm=$algorithm tests/fault/killed_rank 1 20 $count
        no_process_left
    done
done

for transport in p2p_copy shm_copy; do
    run_fails "$killed" 3 transport=$transport tests/fault/killed_rank 1 20 100000
    no_process_left
    run_fails "$killed" 3 transport=$transport fault=proxy_death:200@1 tests/fault/killed_rank 1 100000 100000
    no_process_left
done

case $GF_OPENMPI in
4.1)
    MPIRUN_OPTIONS="$MPIRUN_OPTIONS --enable-recovery"
    for algorithm in one_shot ring host; do
        # mpirun ends with 0 in this mode, whatever the ranks end with
        run_says "rank 1 (process [0-9]* on .*) has ended" 3 algorithm=$algorithm tests/fault/killed_rank 1 20 100000
        no_process_left
    done
    ;;
esac
finish
