#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A wire beside the network's own benchmark of puts, in turn:
#   bench/wire_bench.sh BUILD-FOLDER [ROUNDS] [SIZE…]
# Each run moves GF_VOLUME bytes (default: 2000000000). Medians of the rounds in MB/s, their ratio, and the lowest and highest of
# each. GF_WIRE is the wire:
#   ucx      (default) beside ucx_perftest (Debian and Ubuntu: ucx-utils), by TCP over the interface UCX_NET_DEVICES (default: lo)
#   verbs    beside ib_write_bw (Debian and Ubuntu: perftest); without an adapter in tests/vm/verbs_vm.sh, where the ratio alone
#            means something
set -u

build=${1:?give the build folder}
wire=${GF_WIRE:-ucx}
rounds=${2:-5}
volume=${GF_VOLUME:-2000000000}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- 65536 262144 1048576 4194304
export UCX_TLS=${UCX_TLS:-tcp,self} UCX_NET_DEVICES=${UCX_NET_DEVICES:-lo}
case $wire in
ucx) rival=ucx_perftest ;;
verbs) rival=ib_write_bw ;;
*)
    echo "GF_WIRE=$wire: ucx or verbs" >&2
    exit 1
    ;;
esac
command -v "$rival" > /dev/null || {
    echo "$rival is missing" >&2
    exit 1
}

ours() {
    timeout 120 "$build/bench/wire_bench" "$wire" stream "$1" "$2"
}

# Its third column from the end is the overall bandwidth in MiB/s. The client comes again until the server listens.
theirs_ucx() {
    local port=$((20000 + RANDOM % 12000)) server line=""
    timeout 120 ucx_perftest -t ucp_put_bw -s "$1" -n "$2" -w 100 -p $port > /dev/null 2>&1 &
    server=$!
    while [ -z "$line" ] && kill -0 $server 2> /dev/null; do
        sleep 0.2
        line=$(timeout 120 ucx_perftest 127.0.0.1 -t ucp_put_bw -s "$1" -n "$2" -w 100 -p $port -f -v 2> /dev/null |
            grep '^ *[0-9]')
    done
    wait $server
    awk -F, '{ printf "%.1f\n", $(NF - 2) * 1.048576 }' <<< "$line"
}

# As many at once as the wire has slots, and the wire's time until a lost packet is sent again; its fourth column is in 10^9 bits.
theirs_verbs() {
    local port=$((20000 + RANDOM % 12000)) server line=""
    local options="-F -s $1 -n $2 -t 8 -u 18 -p $port --report_gbits"
    # shellcheck disable=SC2086
    timeout 120 ib_write_bw $options > /dev/null 2>&1 &
    server=$!
    while [ -z "$line" ] && kill -0 $server 2> /dev/null; do
        sleep 0.2
        # shellcheck disable=SC2086
        line=$(timeout 120 ib_write_bw $options localhost 2> /dev/null | grep "^ *$1 ")
    done
    wait $server
    awk '{ printf "%.1f\n", $4 * 1000 / 8 }' <<< "$line"
}

# summary NUMBER…: median, lowest, highest.
summary() {
    printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

echo "| bytes | wire, MB/s | of rounds | $rival, MB/s | of rounds | ratio |"
echo "|---|---|---|---|---|---|"
for bytes in "$@"; do
    count=$((volume / bytes))
    a=() b=()
    for ((i = 0; i < rounds; i++)); do
        a+=("$(ours "$bytes" $count)")
        b+=("$("theirs_$wire" "$bytes" $count)")
    done
    read -r median_a low_a high_a <<< "$(summary "${a[@]}")"
    read -r median_b low_b high_b <<< "$(summary "${b[@]}")"
    echo "| $bytes | $median_a | $low_a – $high_a | $median_b | $low_b – $high_b |" \
        "$(awk "BEGIN { printf \"%.2f\", $median_a / $median_b }") |"
done
