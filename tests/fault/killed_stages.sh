#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Case 24, before there is anything in the middle of which to die: a rank is killed at each stage of setting up, of the agent's
# and a flight's start, and of a message. The job ends, and no process of it is left.
. "${srcdir:-.}/tests/mpi/runs.sh"
. "${srcdir:-.}/tests/fault/killed_rank.sh"

# killed_at "STAGE…" RANKS [NAME=VALUE]... COUNT [WHAT]: rank 1 is killed at each stage, one a run.
killed_at() {
    stages=$1 number=$2 settings=
    shift 2
    while case $1 in *=*) true ;; *) false ;; esac; do
        settings="$settings $1"
        shift
    done
    for stage in $stages; do
        # shellcheck disable=SC2086
        run_fails "$killed" "$number" $settings "fault=kill:$stage@1" tests/fault/killed_rank none 1000000 "$@"
        no_process_left
    done
}

# All ranks come to an agreement, exchange what they are, attach one another's pages, and try a kernel.
killed_at "agree:1 agree:9 segment:1 meet:1 attach:1 attach:2 launch:1 launch:2" 3 2
# Each transport's part at this end and at the other, then the first step over it.
for algorithm in one_shot ring; do
    killed_at "device_alloc:1 ipc_export:1 ipc_open:1 launch:2" 3 transport=p2p algorithm=$algorithm 1000
    killed_at "segment:2 register:1 attach:3 launch:2" 3 transport=shm algorithm=$algorithm 1000
done
killed_at "device_alloc:1 register:1 ipc_open:1 proxy:1 proxy_copy:1 launch:2" 3 transport=p2p_copy 100000
killed_at "device_alloc:1 segment:2 attach:3 register:1 proxy:1 proxy_copy:1 launch:2" 3 transport=shm_copy 100000
killed_at host_segment:1 3 algorithm=host 100000
# Buffers are made known to all and mapped; what is in flight begins.
killed_at "device_alloc:1 segment:2 ipc_export:1 ipc_open:1 ipc_open:2 launch:2" 3 mapped=kernel 1000 exchanges
killed_at "flight:1 flight:9 launch:3" 3 mapped=kernel 1000 flights
# The agent is launched for a collective, and invited for messages.
killed_at "agent:1 agent:2" 3 agent=50 algorithm=one_shot 2
killed_at agent:1 2 agent=1000 8 messages
# Messages, at the receiver: fetched, piped, in chunks; the sender is rank 0.
killed_at "fetch:1 fetch:40" 2 100000 messages
killed_at "fetch:1 fetch:40" 2 transport=shm pipe_bytes=65536 pipe_chunk_bytes=65536 1000000 messages
killed=$(killed_of 0)
for stage in offered:1 offered:40; do
    run_fails "$killed" 2 fault=kill:$stage@0 tests/fault/killed_rank none 1000000 100000 messages
    no_process_left
    run_fails "$killed" 2 transport=shm pipe_bytes=65536 fault=kill:$stage@0 tests/fault/killed_rank none 1000000 1000000 messages
    no_process_left
done

# named_at WHO STAGE RANKS …: where mpirun lets the others go on, they say WHO; mpirun ends with 0 then, whatever they end with.
named_at() {
    who=$1 stage=$2 number=$3 settings=
    shift 3
    while case $1 in *=*) true ;; *) false ;; esac; do
        settings="$settings $1"
        shift
    done
    # shellcheck disable=SC2086
    run_says "$who" "$number" $settings "fault=kill:$stage" tests/fault/killed_rank none 1000000 "$@"
    no_process_left
}

case $GF_OPENMPI in
4.1)
    MPIRUN_OPTIONS="$MPIRUN_OPTIONS --enable-recovery"
    victim="rank 1 (process [0-9]* on .*) has ended"
    named_at "$victim" launch:5@1 3 algorithm=one_shot 2
    named_at "$victim" launch:5@1 3 algorithm=ring 100000
    named_at "$victim" agent:3@1 3 agent=50 algorithm=one_shot 2
    named_at "$victim" launch:5@1 3 mapped=kernel 1000 exchanges
    named_at "$victim" flight:5@1 3 mapped=kernel 1000 flights
    named_at "process [0-9]* has ended while it fetched" fetch:3@1 2 100000 messages
    named_at "process [0-9]* has ended" fetch:3@1 2 transport=shm pipe_bytes=65536 pipe_chunk_bytes=65536 1000000 messages
    # Before or after the receiver has its memory.
    named_at "the sender of a message .* has ended\|cannot be opened .*: unless it has ended" offered:3@0 2 transport=shm \
        pipe_bytes=65536 pipe_chunk_bytes=65536 10000000 messages
    ;;
esac
finish
