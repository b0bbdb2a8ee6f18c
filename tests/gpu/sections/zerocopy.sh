# SPDX-License-Identifier: BSD-3-Clause
#
# MPI_Allreduce over the mapped buffers of all ranks (two_shot) under MPS: checks; times beside the ring, 256 KiB to 256
# MiB, 2, 4 and 8 ranks

# That path and no other, where buffers come and go, too.
runs() {
    for ranks in 2 4 8; do
        run $ranks algorithm=two_shot strict=1 $check_sizes --max 256M
        run $ranks algorithm=two_shot tests/mpi/test_allreduce path=two_shot limit=4194304 sizes bits
        run $ranks algorithm=two_shot tests/mpi/test_zerocopy rounds=400 path=two_shot reuse offsets
        run $ranks algorithm=two_shot tests/mpi/test_zerocopy communicators
    done
    run 2 algorithm=two_shot tests/mpi/test_allreduce path=two_shot,staged types
    run 3 algorithm=two_shot tests/mpi/test_allreduce kinds
    run 2 algorithm=two_shot tests/mpi/case_14_reuse 10000
}

# In turn with the ring, in one run.
measure() {
    for ranks in 2 4 8; do
        way="-n $ranks --bind-to core --mca coll_gpufifo_algorithm"
        echo "== allreduce, $ranks ranks: ring, two_shot"
        "$build/gpufifo-env" "$build/gpufifo-bench" allreduce --min 256K --factor 4 --max 256M --json "$out/zerocopy-$ranks.json" \
            --compare "$way ring" --compare "$way two_shot" || return 1
    done
}

section() {
    under_mps checks runs && under_mps measure
}
