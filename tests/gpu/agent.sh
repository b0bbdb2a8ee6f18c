#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the agent gains and costs: each value of coll_gpufifo_agent in turn, round after round; each line as soon as it is known,
# and then the medians of the runs' medians.
#   agent.sh RANKS [ROUNDS]
# From the environment: what tests/mpi/run_mpi.sh needs.
#
# The order matters: where a program has made the device wait, `auto` rests for many calls. "row" is latency, where the agent
# should gain; "sync" and "memory" are programs that wait for the device after each call, with which `auto` should cost at most
# 3 % over `off`.
set -eu

ranks=$1
rounds=${2:-2}
results=$(mktemp)
trap 'rm -f "$results"' EXIT
iterations=${AGENT_ITERATIONS:-iterations=1000}

# habits AGENT BLOCKS ARGUMENT...
habits() {
    agent=$1 blocks=$2
    shift 2
    "$srcdir/tests/mpi/run_mpi.sh" "$ranks" --bind-to core \
        --mca coll_gpufifo_agent "$agent" --mca coll_gpufifo_agent_blocks "$blocks" \
        "$GF_BUILDDIR/tests/gpu/agent_habits" "$iterations" "$@" 2>&1 |
        sed -u "s/^habit \([a-z]*\) *\([0-9]*\) B *median *\([0-9.]*\) us *mean *\([0-9.]*\) us/\1 \2 $agent\/$blocks \3 \4/" |
        tee -a "$results"
}

echo "$ranks ranks: habit, bytes, agent/blocks, us an iteration: median and mean"
round=0
while [ $round -lt "$rounds" ]; do
    for agent in off auto 200; do
        habits $agent 1 bytes=8 row bytes=4096 row bytes=32768 row bytes=8 sync memory
    done
    habits auto 8 bytes=8 row bytes=4096 row bytes=16384 row bytes=32768 row
    round=$((round + 1))
done

echo "$ranks ranks: medians of $rounds runs, and over off"
grep -E '^[a-z]+ [0-9]+ [a-z0-9]+/[0-9]+ ' "$results" | sort -k1,1 -k2,2n -k3,3 -k4,4n | awk '
    {
        key = $1 " " $2 " " $3
        n[key]++
        value[key, n[key]] = $4
        if (n[key] == 1)
            order[++keys] = key
    }
    END {
        for (i = 1; i <= keys; i++) {
            split(order[i], part, " ")
            off = part[1] " " part[2] " off/1"
            median = value[order[i], int((n[order[i]] + 1) / 2)]
            base = n[off] ? value[off, int((n[off] + 1) / 2)] : 0
            printf "%-8s %6d B  agent %-7s %9.2f us", part[1], part[2], part[3], median
            printf base ? "  %.3f of off\n" : "\n", base ? median / base : 0
        }
    }'
