# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives that fetch blocks from the mapped buffers of all ranks (coll_gpufifo_mapped), or reduce from there: checks under
# MPS and without; times of alltoall, allgather, broadcast and reductions by kernel and by copies (of reductions, staging again)
# beside staging, 8 B to 16 MiB a block or contribution, in one run; GF_RANKS: of the times, 2 8

runs() {
    for ranks in 2 4 8; do
        run $ranks mapped=kernel tests/mpi/test_exchange path=exchange most=100000 rounds=100 random reuse
    done
    for ranks in 2 3 8; do
        run $ranks mapped=kernel tests/mpi/test_reductions path=reduce_mapped,staged most=100000 rounds=100 random reuse
    done
    run 4 mapped=kernel tests/mpi/test_reductions communicators mixed
    run 4 mapped=copy tests/mpi/test_exchange most=100000 rounds=100 random reuse
    run 3 mapped=kernel tests/mpi/test_exchange communicators
    run 4 mapped=kernel tests/mpi/test_exchange path=exchange most=100000 neighbours
    run 2 mapped=kernel tests/mpi/test_exchange path=exchange rounds=2000 most=40 reuse
    run 4 mapped=kernel tests/mpi/test_mixed 4
}

runs_nomps() {
    for mapped in kernel copy; do
        run 2 mapped=$mapped tests/mpi/test_exchange most=100000 rounds=30 random
    done
    run 2 mapped=kernel tests/mpi/test_reductions path=reduce_mapped,staged most=100000 rounds=30 random
}

# In turn, in one run.
measure() {
    for what in alltoall allgather bcast reduce reduce_scatter scan; do
        for ranks in ${GF_RANKS:-2 8}; do
            way="-n $ranks --bind-to core --mca coll_gpufifo_mapped"
            echo "== $what, $ranks ranks: off, kernel, copy"
            timeout 60 "$build/gpufifo-env" "$build/gpufifo-bench" $what --factor 8 --max 16M --iterations 50 --warmup 5 \
                --rounds 1 --json "$out/direct-$what-$ranks.json" --compare "$way off" --compare "$way kernel" \
                --compare "$way copy" || return 1
        done
    done
}

section() {
    GF_TIMEOUT=30
    under_mps checks runs && under_mps measure && checks runs_nomps
}
