# SPDX-License-Identifier: BSD-3-Clause
#
# LL128: torn lines are looked for, then allreduces by that protocol under MPS, and its times beside those of LL

runs() {
    for ranks in 2 4 8; do
        run_prints "one-shot over LL128" $ranks verbose=1 strict=1 protocol=ll128 tests/mpi/test_allreduce path=one_shot \
            limit=262144 sizes bits
        run $ranks protocol=ll128 $check_sizes --max 16M
    done
    run 2 protocol=ll128 tests/mpi/test_allreduce types
    run_prints "may arrive in parts" 2 verbose=1 transport=shm protocol=ll128 tests/mpi/test_allreduce path=one_shot limit=64 \
        sizes
}

measure() {
    by_setting one_shot 1M protocol=ll protocol=ll128
}

section() {
    timeout 120 "$build/tests/gpu/measure_fifo" lines && under_mps checks runs && under_mps measure
}
