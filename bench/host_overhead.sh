#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The price of the component for host-only programs: runs host_overhead with the component and without it in turn, and prints the
# ratio of the medians with its spread over the rounds.
#
#   host_overhead.sh BUILD-FOLDER [--ranks N] [--rounds N] [--samples N] [--calls N] [--device NAME]
#
# --device: what the component is told to use (default emulated; on a machine with a GPU, cuda). With "auto" and no GPU the component
# would stay out of the way and nothing be measured. OMPI_MCA_… variables and MPIRUN_OPTIONS go to both sides. Busy machines need
# more rounds: look at the spread before you believe the ratio.
set -eu

fail() {
    echo "host_overhead.sh: $1" >&2
    exit 1
}

[ $# -gt 0 ] || fail "which build folder?"
build=$1
shift
ranks=2 rounds=10 samples=200 calls=1000 device=emulated
while [ $# -gt 1 ]; do
    case $1 in
    --ranks) ranks=$2 ;;
    --rounds) rounds=$2 ;;
    --samples) samples=$2 ;;
    --calls) calls=$2 ;;
    --device) device=$2 ;;
    *) fail "unknown option $1: --ranks, --rounds, --samples, --calls, --device" ;;
    esac
    shift 2
done
[ $# -eq 0 ] || fail "$1 needs a value"
[ -x "$build/bench/host_overhead" ] || fail "$build has no bench/host_overhead: run make there"

# once NAME VALUE: with this MCA variable
once() {
    # shellcheck disable=SC2086
    "$build/gpufifo-env" mpirun ${MPIRUN_OPTIONS:-} -n "$ranks" --mca "$1" "$2" "$build/bench/host_overhead" "$samples" "$calls"
}
with() { once coll_gpufifo_device "$device"; }
without() { once coll ^gpufifo; }

results=$(mktemp)
trap 'rm -f "$results"' EXIT

echo "host-only MPI_Allreduce of 8 bytes, $ranks ranks, median of $samples samples of $calls calls; with the component for device $device and without it"
echo "round  with(ns)  without(ns)  ratio"
for round in $(seq "$rounds"); do
    if [ $((round % 2)) -eq 1 ]; then
        a=$(with)
        b=$(without)
    else
        b=$(without)
        a=$(with)
    fi
    echo "$round $a $b" | awk '{ printf "%5d  %8.1f  %11.1f  %5.3f\n", $1, $2, $3, $2 / $3 }'
    echo "$a $b" >> "$results"
done

# Medians of each side, and of the ratios of the rounds with their lowest and highest.
awk '
    function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    { with[NR] = $1; without[NR] = $2; ratio[NR] = $1 / $2 }
    END {
        a = median(with, NR)
        b = median(without, NR)
        printf "median with %.1f ns, without %.1f ns, ratio of medians %.4f\n", a, b, a / b
        m = median(ratio, NR)
        printf "ratio of a round: median %.4f, lowest %.4f, highest %.4f\n", m, ratio[1], ratio[NR]
    }' "$results"
