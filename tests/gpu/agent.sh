#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the agent gains and costs: each value of coll_gpufifo_agent in turn, round after round, and the medians over the rounds.
#   agent.sh RANKS [ROUNDS]
# From the environment: what tests/mpi/run_mpi.sh needs.
#
# "row" is latency, where the agent should gain; "sync", "memory" and "work" are programs that wait for the device after each call, with
# which `auto` should cost at most 3 % over `off`. "filled" must come back.
set -eu

ranks=$1
rounds=${2:-5}
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# habits AGENT BYTES HABIT...
habits() {
    agent=$1 bytes=$2
    shift 2
    "$srcdir/tests/mpi/run_mpi.sh" "$ranks" --bind-to core --mca coll_gpufifo_agent "$agent" "$GF_BUILDDIR/tests/gpu/agent_habits" \
        "bytes=$bytes" "${AGENT_ITERATIONS:-iterations=3000}" "$@" > "$results.one" 2>&1 || { cat "$results.one"; rm -f "$results.one"; exit 1; }
    sed -n "s/^habit \([a-z]*\) *\([0-9]*\) B *median *\([0-9.]*\) us *mean *\([0-9.]*\) us/\1 \2 $agent \3 \4/p" "$results.one" >> "$results"
    grep "^habit filled" "$results.one" | sed "s/^/agent $agent, /" || true
    rm -f "$results.one"
}

round=0
while [ $round -lt "$rounds" ]; do
    for agent in off auto 200; do
        for bytes in 8 512 4096 32768; do
            habits $agent $bytes row
        done
        habits $agent 8 sync memory work pause
    done
    round=$((round + 1))
done
for agent in off auto 200; do
    habits $agent 8 filled
done

echo "$ranks ranks, us an iteration: median (mean) of the runs' medians (means), $rounds runs each in turn"
sort -k1,3 "$results" | awk '
    function flush() {
        if (n == 0)
            return
        asort_values()
        printf "%-8s %6d B  agent %-5s %8.2f (%8.2f)\n", habit, bytes, agent, m[int((n + 1) / 2)], a[int((n + 1) / 2)]
        n = 0
    }
    function asort_values(i, j, t) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1; j--) {
                if (m[j - 1] > m[j]) { t = m[j]; m[j] = m[j - 1]; m[j - 1] = t }
                if (a[j - 1] > a[j]) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
            }
    }
    {
        key = $1 " " $2 " " $3
        if (key != last)
            flush()
        last = key
        habit = $1; bytes = $2; agent = $3
        m[++n] = $4; a[n] = $5
    }
    END { flush() }'
