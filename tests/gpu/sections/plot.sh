# SPDX-License-Identifier: BSD-3-Clause
#
# bandwidth over size of every mechanism, 2 ranks under MPS, and of those that go without MPS: SVG and JSON into the out folder

# measure NAME MOST-BYTES [OPTION...]
measure() {
    name=$1 most=$2
    shift 2
    timeout -k 5 60 "$build/gpufifo-env" "$build/gpufifo-bench" --plot "$out/$name.svg" --json "$out/$name.json" \
        --min 1K --factor 4 --max "$most" --iterations 40 --warmup 3 --rounds 1 "$@"
}

section() {
    under_mps measure mechanisms 64M || return 1
    echo "== without MPS"
    measure mechanisms-nomps 16M --mechanisms host_sequenced,pull_kernel,pull_copy_engine,pipe,staged
}
