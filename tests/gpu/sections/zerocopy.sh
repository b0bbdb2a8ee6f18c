# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce over the mapped buffers of all ranks (two_shot) under MPS: checks; times beside the ring, 16 KiB to 256
# MiB, 2, 4 and 8 ranks; by auto: which call is the first of that way, and what a program pays that has a new buffer for each call

# That path and no other, where buffers come and go, too.
runs() {
    for ranks in 2 4 8; do
        run $ranks algorithm=two_shot strict=1 $check_sizes --max 256M
        run $ranks algorithm=two_shot tests/mpi/test_allreduce path=two_shot limit=4194304 sizes bits
        run $ranks algorithm=two_shot tests/mpi/test_zerocopy rounds=400 path=two_shot reuse offsets
        run $ranks algorithm=two_shot tests/mpi/test_zerocopy communicators
    done
    for ranks in 2 8; do
        run $ranks tests/mpi/test_zerocopy familiar
        run $ranks tests/mpi/test_zerocopy bits
        run $ranks strict=1 $check_sizes --max 16M
    done
    for ranks in 2 8; do
        run $ranks algorithm=one_shot_mapped $check_sizes --max 1M
        run $ranks algorithm=one_shot_mapped tests/mpi/test_zerocopy rounds=100 reuse offsets
    done
    run 2 algorithm=two_shot tests/mpi/test_allreduce path=two_shot,staged types
    run 3 algorithm=two_shot tests/mpi/test_allreduce kinds
    run 2 algorithm=two_shot tests/mpi/case_14_reuse 10000
}

# In turn with the ring, in one run.
measure() {
    for ranks in 2 4 8; do
        way="-n $ranks --bind-to core --mca coll_gpufifo_algorithm"
        echo "== allreduce, $ranks ranks: ring, two_shot, auto"
        "$build/gpufifo-env" "$build/gpufifo-bench" allreduce --min 16K --factor 4 --rounds 1 --max 256M \
            --json "$out/zerocopy-$ranks.json" \
            --compare "$way ring" --compare "$way two_shot" --compare "$way auto" || return 1
    done
}

# Small ones, beside LL lines.
measure_one_shot() {
    for ranks in 2 8; do
        way="-n $ranks --bind-to core --mca coll_gpufifo_algorithm"
        echo "== allreduce, $ranks ranks: one_shot, one_shot_mapped, two_shot"
        "$build/gpufifo-env" "$build/gpufifo-bench" allreduce --min 8 --factor 8 --max 256K --rounds 1 \
            --json "$out/one-shot-mapped-$ranks.json" --compare "$way one_shot" --compare "$way one_shot_mapped" \
            --compare "$way two_shot" || return 1
    done
}

# Calls with a new buffer each are not mapped, and take what they take with the ring.
measure_fresh() {
    for algorithm in ring auto ring auto; do
        start=$(date +%s%N)
        "$source/tests/mpi/run_mpi.sh" 2 --mca coll_gpufifo_algorithm $algorithm \
            "$build/tests/mpi/test_zerocopy" rounds=3000 fresh || return 1
        echo "3000 rounds with a new buffer each, $algorithm: $((($(date +%s%N) - start) / 1000000)) ms"
    done
}

section() {
    under_mps checks runs && under_mps measure_fresh && under_mps measure_one_shot && under_mps measure
}
