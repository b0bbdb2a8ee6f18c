# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced after tests/mpi/runs.sh by scripts that have killed_rank die: how long its peers may take to notice, and whether any
# process is left.

GF_TIMEOUT=60      # not a measurement, and with the start of the ranks: beyond it the survivors are spinning
export GF_TIMEOUT

has_ended() {
    ! kill -0 "$1" 2> /dev/null
}

no_process_left() {
    left=
    for process in $(sed -n 's/.*is process \([0-9]*\)$/\1/p' "$output"); do
        # a dying process may need a moment
        wait_until 30 has_ended "$process" || left="$left $process"
    done
    if [ -n "$left" ]; then
        bad "processes are left:$left"
    else
        good
    fi
}

# killed_of RANK: mpirun says it, or a rank that has noticed before, or, of a message, its other end.
killed_of() {
    message="process [0-9]* has ended\|the sender of a message .* has ended\|cannot be opened .*: unless it has ended"
    echo "signal 9\|rank $1 (process [0-9]* on .*) has ended\|$message"
}
killed=$(killed_of 1)
