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
#   mpi      messages of MPI, or with GF_CALL=allreduce a ring's data each way, from the devices GF_DEVICE (default: emulated) of
#            GF_HOST (default: this host) to GF_PEER's, where GF_RSH (default: ssh) runs a command. A round's figure is the median
#            of five on each side, of GF_WINDOW messages (default: 32) each. By the wire GF_NET:
#            verbs    (default) from buffer to buffer, beside ib_write_bw (host memory), both with GF_MTU (default: 4096)
#            ucx      beside ucx_perftest; tests/netns/on_hosts.sh makes two hosts for it
set -u

build=${1:?give the build folder}
wire=${GF_WIRE:-ucx}
rounds=${2:-5}
volume=${GF_VOLUME:-2000000000}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- 65536 262144 1048576 4194304
export UCX_TLS=${UCX_TLS:-tcp,self} UCX_NET_DEVICES=${UCX_NET_DEVICES:-lo}
call=${GF_CALL:-bandwidth}
case $wire,${GF_NET:-verbs},$call in
ucx,*,bandwidth | mpi,ucx,bandwidth | mpi,ucx,allreduce) rival=ucx_perftest ;;
verbs,*,bandwidth | mpi,verbs,bandwidth | mpi,verbs,allreduce) rival=ib_write_bw ;;
*)
    echo "GF_WIRE=$wire is to be ucx, verbs or mpi, GF_NET=${GF_NET:-verbs} verbs or ucx, and GF_CALL=$call bandwidth or, with" \
        "mpi, allreduce" >&2
    exit 1
    ;;
esac
command -v "$rival" > /dev/null || {
    echo "$rival is missing" >&2
    exit 1
}

# Commands before whose names stand $at_host or $at_peer run there.
host=$(hostname) peer=127.0.0.1 at_host="" at_peer="" window=${GF_WINDOW:-32} samples=5 mtu=${GF_MTU:-4096} timeout=18 depth=8
if [ "$wire" = mpi ]; then
    host=${GF_HOST:-$host} peer=${GF_PEER:?GF_WIRE=mpi needs the other host in GF_PEER} timeout=25 depth=16
    at_peer="${GF_RSH:-ssh} $peer"
    [ "$host" = "$(hostname)" ] || at_host="${GF_RSH:-ssh} $host"
    said=$(mktemp) || exit
    trap 'rm -f "$said"' EXIT
fi

ours_ucx() {
    timeout 120 "$build/bench/wire_bench" ucx stream "$1" "$2"
}

ours_verbs() {
    timeout 120 "$build/bench/wire_bench" verbs stream "$1" "$2"
}

# The time of a window runs until the receiver has answered that it has all. Of two ranks, each sends as many bytes for an
# allreduce as that has. What is said must show the way: by verbs from buffer to buffer, at both ends.
ours_mpi() {
    local settings="device ${GF_DEVICE:-emulated} net ${GF_NET:-verbs} verbose 1" shows ways=2 path=pt2pt_net
    case $call in
    bandwidth) settings="$settings net_messages net net_message_bytes 1 pipe_bytes 1" shows="by the network.*" ;;
    allreduce) settings="$settings algorithm ring net_bytes 1" shows="between nodes by coll_gpufifo_net" ways=1 path=ring ;;
    esac
    case $rival,$call in
    ib_write_bw,bandwidth) shows="$shows: this end's buffer is registered" ;;
    ib_write_bw,allreduce) shows="net: to rank . without copies, where both ends' buffers are registered" ways=2 ;;
    esac
    [ $rival != ib_write_bw ] || settings="$settings net_zero_copy yes net_timeout $timeout net_mtu $mtu"
    # shellcheck disable=SC2046,SC2086
    timeout 300 "$build/gpufifo-env" mpirun --host "$host,$peer" -n 2 --mca btl self,tcp --mca mpi_yield_when_idle 1 \
        $(printf -- '--mca coll_gpufifo_%s %s ' $settings) "$build/gpufifo-bench" $call --device "${GF_DEVICE:-emulated}" \
        --min "$1" --max "$1" --window "$window" --iterations $samples --warmup 1 > "$said" 2>&1
    if [ "$(grep -c "$shows" "$said")" -ge $ways ]; then
        awk -v bytes="$1" -v path=$path '$1 == bytes && $NF == path { printf "%.1f\n", (path == "ring" ? 1 : $2) * bytes / $3 }' \
            "$said"
    else
        echo "the data did not go as they should:" >&2
        cat "$said" >&2
    fi
}

# Its third column from the end is the overall bandwidth in MiB/s. The client comes again until the server listens.
theirs_ucx() {
    local port=$((20000 + RANDOM % 12000)) server line=""
    local options="-t ucp_put_bw -s $1 -n $2 -w $(($2 < 100 ? $2 : 100)) -p $port"
    # shellcheck disable=SC2086
    timeout 120 $at_peer ucx_perftest $options > /dev/null 2>&1 &
    server=$!
    while [ -z "$line" ] && kill -0 $server 2> /dev/null; do
        sleep 0.2
        # shellcheck disable=SC2086
        line=$(timeout 120 $at_host ucx_perftest "$peer" $options -f -v 2> /dev/null | grep '^ *[0-9]')
    done
    wait $server
    awk -F, '{ printf "%.1f\n", $(NF - 2) * 1.048576 }' <<< "$line"
}

# As many at once as the wire has slots, and the wire's time until a lost packet is sent again; its fourth column is in MiB/s.
theirs_verbs() {
    local port=$((20000 + RANDOM % 12000)) server line=""
    local options="-F -s $1 -n $2 -t $depth -u $timeout -p $port"
    [ "$wire" = verbs ] || options="$options -m $mtu"
    # shellcheck disable=SC2086
    timeout 120 $at_peer ib_write_bw $options > /dev/null 2>&1 &
    server=$!
    while [ -z "$line" ] && kill -0 $server 2> /dev/null; do
        sleep 0.2
        # shellcheck disable=SC2086
        line=$(timeout 120 $at_host ib_write_bw $options "$peer" 2> /dev/null | grep "^ *$1 ")
    done
    wait $server
    awk '{ printf "%.1f\n", $4 * 1.048576 }' <<< "$line"
}

theirs_mpi() {
    local i figures=()
    for ((i = 0; i < samples; i++)); do
        figures+=("$(if [ $rival = ucx_perftest ]; then theirs_ucx "$1" "$window"; else theirs_verbs "$1" "$window"; fi)")
    done
    summary "${figures[@]}" | cut -d' ' -f1
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
        a+=("$("ours_$wire" "$bytes" $count)")
        b+=("$("theirs_$wire" "$bytes" $count)")
    done
    read -r median_a low_a high_a <<< "$(summary "${a[@]}")"
    read -r median_b low_b high_b <<< "$(summary "${b[@]}")"
    echo "| $bytes | $median_a | $low_a – $high_a | $median_b | $low_b – $high_b |" \
        "$(awk "BEGIN { printf \"%.2f\", $median_a / $median_b }") |"
done
