#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# How jobs by verbs end, over two virtual machines with two ranks each: a job is cancelled in the midst of its collectives, or
# loses a rank, and leaves no process, file, shared memory or resource of an adapter behind; communicators without a rank that
# has died go on, over the same adapters.
if [ "${1:-}" != inside ]; then
    GF_TIMEOUT=400
    export GF_TIMEOUT
    exec "$GF_BUILDDIR/gpufifo-env" "${srcdir:-.}/tests/vm/verbs_vm.sh" --or-skip --nodes 2 --timeout 1200 sh "$0" inside
fi
. "${srcdir:-.}/tests/mpi/runs.sh"

# Temporary files go where nothing but the job makes any: into a memory of this node; /tmp is the host's.
export TMPDIR=/run OMPI_MCA_orte_tmpdir_base=/run PRTE_MCA_prte_tmpdir_base=/run
MPIRUN_OPTIONS="--host node1:2,node2:2 --mca btl self,tcp"
# An emulated processor may stand still for seconds, so acknowledgements have minutes: of deaths ranks hear otherwise.
verbs="verbose=1 net=verbs net_bytes=1 net_messages=net net_timeout=25"

# What a node has of jobs: processes by their names, files, shared memory, and what its adapter holds for processes, counted.
traces_of_a_node='
    cat /proc/[0-9]*/comm 2> /dev/null | grep -x -e killed_rank -e mpirun -e orted -e prterun -e prted
    find /run /dev/shm | sort
    cat /proc/sysvipc/shm
    rdma resource show'

traces() {
    sh -c "$traces_of_a_node"
    vm-rsh node2 "$traces_of_a_node"
}

nothing_new() {
    [ "$(traces)" = "$before" ]
}

all_in_the_midst() {
    [ "$(grep -c "has made 5 calls" "$output")" -eq 4 ]
}

mpirun_is_told_to_end() {
    for name in $(grep -l -s -x -e mpirun -e prterun /proc/[0-9]*/comm); do
        process=${name#/proc/}
        kill -TERM "${process%/comm}"
    done
}

rank_3_is_killed() {
    vm-rsh node2 "kill -KILL $(sed -n "s/.*rank 3 is process //p" "$output")"
}

# ended_by FUNCTION: a job whose collectives would go on for ever.
ended_by() {
    : > "$output"
    before=$(traces)
    # shellcheck disable=SC2086
    (launch 4 $verbs tests/fault/killed_rank none 5 10000; ! timed_out) &
    job=$!
    shown="four ranks of killed_rank, $1"
    if ! wait_until 200 all_in_the_midst; then
        bad "did not come to make its calls"
        mpirun_is_told_to_end
        wait $job
    elif ! "$1" || ! wait $job; then
        bad "did not end"
    elif ! wait_until 300 nothing_new; then
        { echo "before:"; echo "$before"; echo "after:"; traces; } >> "$output"
        bad "something is left"
    else
        good
    fi
}

ended_by mpirun_is_told_to_end
ended_by rank_3_is_killed

# mpirun would wait for the rank that is gone; the machine's end ends it. All of the others end as they should, or not, before.
if [ "$GF_OPENMPI" = 4.1 ]; then
    MPIRUN_OPTIONS="$MPIRUN_OPTIONS --enable-recovery"
    : > "$output"
    # shellcheck disable=SC2086
    launch 4 $verbs tests/fault/others_go_on 3 10000 &
    shown="others_go_on: rank 3 dies"
    way="net: from rank 2, lanes 0 .* by verbs rxe0"        # none is from rank 2 while rank 3 lives
    others_have_gone_on() {
        [ "$(grep -c "rank [0-2] goes on without rank 3: right" "$output")" -eq 3 ]
    }
    if wait_until 300 others_have_gone_on && grep -q "$way" "$output"; then
        good
    else
        bad "did not go on, or not by verbs"
    fi
fi
finish
