# SPDX-License-Identifier: BSD-3-Clause
#
# allreduce by size beside the staged path, 2, 4 and 8 ranks, with and without MPS; JSON into the out folder

bench() {
    for ranks in 2 4 8; do
        name=$out/allreduce-$1-$ranks
        echo "== $1, $ranks ranks"
        "$source/tests/mpi/run_mpi.sh" $ranks "$build/gpufifo-bench" --min 8 --max "$2" --factor "$3" --iterations "$4" --staged \
            --json "$name.json" > "$name.txt" 2>&1
        result=$?
        cat "$name.txt"
        [ $result -eq 0 ] || return 1
    done
}

section() {
    under_mps bench mps 256M 2 200 && bench nomps 64M 8 40
}
