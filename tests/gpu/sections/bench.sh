# SPDX-License-Identifier: BSD-3-Clause
#
# allreduce by size beside the staged path, 2, 4 and 8 ranks, with and without MPS; JSON into the out folder

bench() {
    for ranks in 2 4 8; do
        echo "== $1, $ranks ranks"
        "$source/tests/mpi/run_mpi.sh" $ranks "$build/gpufifo-bench" --min 8 --max "$2" --factor "$3" --iterations "$4" --staged \
            --json "$out/allreduce-$1-$ranks.json" > "$out/allreduce-$1-$ranks.txt" 2>&1 || { cat "$out/allreduce-$1-$ranks.txt"; return 1; }
        cat "$out/allreduce-$1-$ranks.txt"
    done
}

section() {
    under_mps bench mps 256M 2 200 && bench nomps 64M 8 40
}
