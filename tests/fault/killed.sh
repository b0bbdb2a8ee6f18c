#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Case 24: a rank is killed in the middle of a collective. The job ends, no process of it is left, and, where mpirun lets the
# others go on (--enable-recovery), their message names the rank.
. "${srcdir:-.}/tests/mpi/runs.sh"

. "${srcdir:-.}/tests/fault/killed_rank.sh"

for algorithm in one_shot ring host; do
    for count in 2 100000; do
        run_fails "$killed" 3 algorithm=$algorithm tests/fault/killed_rank 1 20 $count
        no_process_left
    done
done

for transport in p2p_copy shm_copy; do
    run_fails "$killed" 3 transport=$transport tests/fault/killed_rank 1 20 100000
    no_process_left
    run_fails "$killed" 3 transport=$transport fault=kill:proxy_copy:200@1 tests/fault/killed_rank 1 100000 100000
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
    # The others' own communicator is none of that.
    run_says "rank 2 goes on without rank 1: right" 3 tests/fault/others_go_on 1 2
    run_says "rank 2 goes on without rank 1: right" 3 algorithm=ring tests/fault/others_go_on 1 100000
    ;;
esac
finish
