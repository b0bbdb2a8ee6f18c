# SPDX-License-Identifier: BSD-3-Clause
#
# no kernel spills; achieved memory throughput of the main kernels by Nsight Compute, one process: pull, pack and reduction
# alone, the ring and two-shot of two ranks, a FIFO of 32 blocks

metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
metrics=$metrics,dram__throughput.avg.pct_of_peak_sustained_elapsed

find_ncu() {
    for ncu in "$(command -v ncu)" /opt/nvidia/nsight-compute/*/ncu /usr/local/cuda*/bin/ncu; do
        [ -x "$ncu" ] && return
    done
    echo "ncu is missing: Nsight Compute comes with the CUDA toolkit (its own package: nsight-compute-<version>)"
    return 1
}

# table NAMES-OF-ROWS NCU-OPTIONS PROGRAM [ARGUMENT...]
table() {
    names=$1 options=$2
    shift 2
    # shellcheck disable=SC2086
    if ! timeout -k 5 45 "$ncu" --csv --print-units base --clock-control none --metrics "$metrics" $options "$@" \
        > "$out/ncu.csv" 2>&1; then
        tail -n 20 "$out/ncu.csv"
        return 1
    fi
    # shellcheck disable=SC2086
    python3 "$source/tests/gpu/ncu_table.py" "$out/ncu.csv" $names || { tail -n 20 "$out/ncu.csv"; return 1; }
}

# Microseconds that a kernel takes where nobody looks.
alone() {
    "$build/tests/gpu/kernel_throughput" cuda 256 1000 "$1" | sed -n 's/^ran .*, \([0-9.]*\) us each.*/\1/p'
}

# The same of the largest FIFO, from the share of a second that a GiB takes; $1: the column of its GB/s.
fifo_alone() {
    "$build/tests/gpu/measure_fifo" fifo |
        awk -v column="$1" '$1 == 32 { printf "%.1f", 4 * 256 * 1048576 / $column / 1e3; exit }'
}

# Kernels that wait for one another must run at once: a range of them is measured, and the program started anew for each pass. The
# profiler makes launches so slow that the time of a range means nothing.
section() {
    result=0
    "$source/tests/check_spills.sh" || result=1
    find_ncu || return 1
    table "" "--profile-from-start off" "$build/tests/gpu/.libs/kernel_throughput" cuda 256 1 reduce pull pack || result=1
    table "ring*100@$(alone ring) two_shot*100@$(alone two_shot)" "--replay-mode app-range" \
        "$build/tests/gpu/.libs/kernel_throughput" cuda 256 100 ring two_shot || result=1
    table "fifo_at_receiver@$(fifo_alone 3) fifo_at_sender@$(fifo_alone 4)" "--replay-mode app-range" \
        "$build/tests/gpu/measure_fifo" fifo || result=1
    return $result
}
