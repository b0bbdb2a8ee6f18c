#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything that needs a GPU, on a machine with one: builds, checks results under a private MPS daemon and without one, looks
# with compute-sanitizer, and measures. Ends with a summary.
#
#   run.sh [--build FOLDER] [--out FOLDER] SECTION...
#
# Default folders: build-gpu below the sources, and results below that. Each section is a file of the folder sections; "all"
# means all of them. A section takes from seconds to some minutes:
set -u

# One a line, in the order of "all".
order="
    build
    device
    kernels
    ll128
    fifo
    pull
    pack
    sanitizer
    ncu
    mps
    cases
    collectives
    freed
    nomps
    pt2pt
    pt2pt-nomps
    proxy
    zerocopy
    direct
    memory
    bench
    plot
    latency
    agent
    message
    overhead
    demo
    several
    rivals
"
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$source/tests/gpu/sections
build=$source/build-gpu
out=

usage() {
    sed -n '4,/^set -u/s/^# \{0,1\}//p' "$0"
    for name in $order; do
        sed -n '3,/^$/s/^# //p' "$folder/$name.sh" | sed "1s/^/$name: /; s/^/    /"
    done
}

names=
while [ $# -gt 0 ]; do
    case $1 in
    --build | --out) [ $# -ge 2 ] || { echo "run.sh: $1 needs a folder" >&2; exit 2; } ;;
    esac
    case $1 in
    --build) build=$2; shift ;;
    --out) out=$2; shift ;;
    --inside) shift; break ;;      # SECTION FUNCTION [ARGUMENT...]: what under_mps starts
    all) names="$names $order" ;;
    -*) echo "run.sh: unknown option $1: --build FOLDER, --out FOLDER" >&2; exit 2 ;;
    *)
        [ -f "$folder/$1.sh" ] || { echo "run.sh: unknown section $1; they are:" $order >&2; exit 2; }
        names="$names $1"
        ;;
    esac
    shift
done
if [ -z "$names" ] && [ $# -eq 0 ]; then
    usage >&2
    exit 2
fi
out=${out:-$build/results}
mkdir -p "$build" "$out" || exit 1

PATH=$PATH:/usr/local/cuda/bin:/usr/local/nvidia/bin
export PATH
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
OMPI_MCA_coll_gpufifo_device=cuda
export OMPI_MCA_coll_gpufifo_device
# Containers often refuse process_vm_readv, which Open MPI then complains about.
OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_btl_vader_single_copy_mechanism

. "$source/tests/gpu/common.sh"

# section_call SECTION FUNCTION [ARGUMENT...]
section_call() {
    section_name=$1
    shift
    . "$folder/$section_name.sh"
    prepare_runs
    "$@"
}

# One function of a section, as under MPS: its own output and status are the answer.
if [ $# -gt 0 ]; then
    section_call "$@"
    exit
fi

# The log as it grows, without what programs said that were right.
show() {
    awk '/^ok: / { right = 1; print; fflush(); next } /^  \| / && right { next } { right = 0; print; fflush() }'
}

summary=
status=0
for name in $names; do
    echo "===== $name"
    start=$(date +%s)
    { (section_call "$name" section) 2>&1; echo $? > "$out/$name.status"; } | tee "$out/$name.log" | show
    result=$(cat "$out/$name.status")
    said=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$out/$name.log" | tail -n 1)
    if [ $result -eq 0 ]; then word=ok; else word="FAILED ($result)"; status=1; fi
    summary="$summary$(printf '  %-11s %-12s %4d s  %s' "$name" "$word" $(($(date +%s) - start)) "$said")
"
done
echo "===== summary ($(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1))"
printf '%s' "$summary"
exit $status
