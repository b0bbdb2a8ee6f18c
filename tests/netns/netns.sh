#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs over several hosts, which are namespaces of this machine joined by a network, by Open MPI over TCP and by UCX over TCP:
# collectives, messages, links that are slow and lose packets, a rank that dies, a host that vanishes, one whose process is
# stopped.
#   netns.sh          all of it; loss and delay only where this kernel has tc netem
#   netns.sh lossy    loss and delay alone: tests/vm/netem.sh runs this on a kernel that has it
folder=$(cd "${srcdir:-.}/tests/netns" && pwd)
. "$folder/hosts.sh"

if ! hosts_enter "$0" "$@"; then
    echo "skipped: no hosts can be made here (it takes root, and veth and bridge of the kernel): $why_no_hosts"
    exit 77
fi
. "${srcdir:-.}/tests/mpi/runs.sh"
tests=tests/mpi

# over HOST:RANKS,...
over() {
    case $GF_OPENMPI in
    4.1) MPIRUN_OPTIONS="--host $1 --mca plm_rsh_agent $hosts/agent --mca btl self,vader,tcp" ;;
    *) MPIRUN_OPTIONS="--host $1 --prtemca plm_ssh_agent $hosts/agent --mca btl self,sm,tcp" ;;
    esac
}

# every_link add|del QDISC: for what goes to each host
every_link() {
    for host in a b c; do
        # shellcheck disable=SC2086
        tc qdisc "$1" dev "to-$host" root $2 || return 1
    done
}

# traffic ROUNDS
traffic() {
    over a:2,b:2
    run_prints "its ranks are on several nodes" 4 verbose=1 $tests/test_allreduce path=staged limit=4096 sizes
    run 4 pipe_bytes=2000 pipe_chunk_bytes=65536 pipe_slots=3 pipe_depth=2 $tests/test_pt2pt_stress 1 "$1" 5
    if has_ucx 1; then
        run_prints "between nodes by coll_gpufifo_net, from rank 1 to 2, 3 to 0" 4 verbose=1 net=ucx net_bytes=1 \
            $tests/test_allreduce path=ring limit=4096 sizes
    fi
    over a,b,c
    run_prints "0 of 256 points differ.*: right" 3 examples/jacobi --size 16 --steps 4
}

processes_of() {
    grep -l -s -x "$1" /proc/[0-9]*/comm
}

none_of() {
    [ -z "$(processes_of "$1")" ]
}

# A rank dies in the midst of a collective: the job ends, on the other host too. Which process mpirun takes to have failed first
# is not always that one.
#   rank_dies RANK [NAME=VALUE]...
rank_dies() {
    rank=$1
    shift
    over a:2,b:2
    run_fails "rank 3 is process" 4 "$@" tests/fault/killed_rank "$rank" 20 100000
    if wait_until 30 none_of killed_rank; then
        good
    else
        processes_of killed_rank >> "$output"
        bad "ranks are left"
    fi
}

# In each run host b has no power for as long as a job needs to notice: nothing answers, and nothing was closed.
power_cut() {
    while :; do
        wait_until 60 grep -q "rank 0 has made 20 calls" "$output"
        ip link set dev to-b down
        wait_until 60 grep -q "failed on rank 0" "$output"
        ip link set dev to-b up
        while grep -q "failed on rank 0" "$output"; do sleep 0.2; done
    done
}

# With the kernel's own settings, by which TCP goes on for a quarter of an hour.
host_vanishes() {
    over a,b
    power_cut &
    run_fails "the connection .* rank 1 by net: ucx .*timeout" 2 net=ucx net_bytes=1 net_silence=3 \
        tests/fault/killed_rank none 20 100000
    kill $!
    ip link set dev to-b up
}

goes_on() {
    [ "$(grep -c "rank 1 has made" "$output")" -gt "$1" ]
}

# Rank 1 is stopped for longer than a host may be silent: its host is not. So it is waited for.
process_stops() {
    over a,b
    : > "$output"
    launch 2 net=ucx net_bytes=1 net_silence=2 tests/fault/killed_rank none 20 100000 &
    shown="killed_rank on two hosts, rank 1 is stopped for a while"
    wait_until 60 grep -q "rank 1 has made 20 calls" "$output"
    process=$(sed -n 's/.*rank 1 is process //p' "$output")
    on_host b kill -STOP "$process"
    sleep 8
    made=$(grep -c "rank 1 has made" "$output")
    on_host b kill -CONT "$process"
    if wait_until 60 goes_on "$made" && ! grep -q "acknowledged nothing" "$output"; then
        good
    else
        bad "was not waited for"
    fi
    on_host b kill -KILL "$process"
    wait_until 60 none_of killed_rank
}

# Whether the links were what traffic took for lossy ones. Of thousands of packets none would be lost once in 10^6 runs or less.
packets_were_lost() {
    shown="links that lose packets"
    tc -s qdisc show > "$output"
    if grep -A1 "^qdisc netem" "$output" | grep -q "dropped [1-9]"; then good; else bad "have lost none"; fi
}

lossy="netem delay 1ms 500us loss 0.5%"

hosts_start a b c
export UCX_TLS=tcp UCX_NET_DEVICES=inside
if [ "${1:-}" = lossy ]; then
    every_link add "$lossy" || exit 99
    traffic 5
    packets_were_lost
    finish
fi
traffic 10
run_prints "sent in chunks" 3 verbose=1 pipe_bytes=60000 pipe_chunk_bytes=65536 $tests/test_pt2pt_pipe wire
run 3 $tests/test_mixed 3

# Narrow links, whose queues overflow.
if every_link add "tbf rate 200mbit burst 64kb limit 128kb" 2> /dev/null; then
    traffic 5
    over a,b
    run 2 pipe_bytes=60000 pipe_chunk_bytes=65536 $tests/test_pt2pt_pipe wire
    tc -s qdisc show dev to-b
    every_link del ""
else
    skip 5 "this kernel has no tc tbf"
fi
if every_link add "$lossy" 2> /dev/null; then
    traffic 5
    packets_were_lost
else
    echo "this kernel has no tc netem: tests/vm/netem.sh has a machine whose kernel has it"
fi
rank_dies 0
rank_dies 3
if has_ucx 4; then
    rank_dies 2 net=ucx net_bytes=1
    host_vanishes
    process_stops
fi
finish
