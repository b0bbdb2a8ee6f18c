#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The price of the component for host-only programs: runs host_overhead with the component and without it in turn, and prints the
# medians, and the ratio of a round with its spread over the rounds.
#
#   host_overhead.sh BUILD-FOLDER [allreduce|messages] [--ranks N] [--rounds N] [--samples N] [--calls N] [--device NAME]
#                    [--pml NAME]
#
# allreduce (default): MPI_Allreduce of 8 bytes. messages: ping-pong by MPI_Send and MPI_Recv, ping-pong by MPI_Irecv, MPI_Isend
# and MPI_Wait, and windows of 64 messages, of 8 bytes to 64 KiB, between 2 ranks.
# --device: what the component is told to use (default emulated; on a machine with a GPU, cuda). With "auto" and no GPU the
# component would stay out of the way and nothing be measured. --pml: ob1 or ucx (default as Open MPI chooses). OMPI_MCA_…
# variables and MPIRUN_OPTIONS go to both sides. Busy machines need more rounds: look at the spread before you believe the ratio.
set -eu

fail() {
    echo "host_overhead.sh: $1" >&2
    exit 1
}

[ $# -gt 0 ] || fail "which build folder?"
build=$1
shift
what=allreduce
case ${1:-} in
allreduce | messages)
    what=$1
    shift ;;
esac
ranks=2 rounds=10 samples=200 calls=1000 device=emulated pml=
while [ $# -gt 1 ]; do
    case $1 in
    --ranks) ranks=$2 ;;
    --rounds) rounds=$2 ;;
    --samples) samples=$2 ;;
    --calls) calls=$2 ;;
    --device) device=$2 ;;
    --pml) pml=$2 ;;
    *) fail "unknown option $1: --ranks, --rounds, --samples, --calls, --device, --pml" ;;
    esac
    shift 2
done
[ $# -eq 0 ] || fail "$1 needs a value"
[ -x "$build/bench/host_overhead" ] || fail "$build has no bench/host_overhead: run make there"
case $pml in
ucx) pml="--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any" ;;      # shared memory will do
?*) pml="--mca pml $pml" ;;
esac

# once SIDE NAME VALUE: with this MCA variable; adds lines "ROUND SIDE NAME BYTES NANOSECONDS" to the results.
once() {
    # shellcheck disable=SC2086
    "$build/gpufifo-env" mpirun ${MPIRUN_OPTIONS:-} $pml -n "$ranks" --mca "$2" "$3" \
        "$build/bench/host_overhead" "$what" "$samples" "$calls" > "$results.run"
    sed "s/^/$round $1 /" "$results.run" >> "$results"
}
with() { once with coll_gpufifo_device "$device"; }
without() { once without coll ^gpufifo; }

results=$(mktemp)
trap 'rm -f "$results" "$results.run"' EXIT

echo "host-only $what, $ranks ranks${pml:+, $pml}, median of $samples samples of about $calls calls or messages"
echo "$rounds rounds, with the component for device $device and without it in turn"
for round in $(seq "$rounds"); do
    if [ $((round % 2)) -eq 1 ]; then
        with
        without
    else
        without
        with
    fi
done

# By test and size: the medians over the rounds of each side, their ratio, and the median, lowest and highest ratio of a round.
awk '
    function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    {
        key = $3 " " $4
        if (!(key in seen)) { seen[key] = 1; keys[++count] = key }
        time[$1, $2, key] = $5
        if ($1 > rounds) rounds = $1
    }
    END {
        print "test          bytes    with(ns)  without(ns)  ratio  ratio of a round: median  lowest  highest"
        for (k = 1; k <= count; k++) {
            for (r = 1; r <= rounds; r++) {
                with[r] = time[r, "with", keys[k]]
                without[r] = time[r, "without", keys[k]]
                ratio[r] = with[r] / without[r]
            }
            a = median(with, rounds)
            b = median(without, rounds)
            m = median(ratio, rounds)
            split(keys[k], name, " ")
            printf "%-12s %6d  %10.1f  %11.1f  %5.3f  %24.3f  %6.3f  %7.3f\n", name[1], name[2], a, b, a / b, m,
                ratio[1], ratio[rounds]
        }
    }' "$results"
